package translate

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// The tree below a root: a node is a route under one chain of parents (flatKey),
// a link is a parent's node and a candidate for a child. Nodes lead to links and
// links to nodes; a value is empty when what it hangs on is gone, so that a
// subtree whose root is taken away falls from the top.

// flatOut is a route's rules on one port.
type flatOut struct {
	*route.Flat
	// Under are the names of the parent's Points that the node is linked to.
	Under []string
	// Hosts are those of the root that the node serves.
	Hosts   ir.Hosts
	Entries []*entry
	// Uses says which policies are in force at the rules.
	Uses []policy.Use
	// Policies are those of each rule, by its name.
	Policies map[string]*policy.Resolved
	// SignIns are the identity providers at which the rules have users sign in.
	SignIns []manifest.Key
	// Whole is true if no rule of the route works as it is written.
	Whole bool
	// rejected is what Envoys said of the route's rules.
	rejected rejections
}

// encode returns the entry of a rule. If Envoy would reject the rule's action, the entry answers
// 500. If Envoy would reject the match itself, there is no entry (docs/design/xds.md).
func (out *flatOut) encode(rule *ir.Rule) (*entry, []manifest.Problem) {
	encoded, problems := xds.Route(rule)
	if len(problems) == 0 {
		e, refusal := out.rejected.mark(&entry{Rule: rule, Encoded: encoded, Own: out.Policies[rule.Name]})
		if refusal != nil {
			problems = []manifest.Problem{xds.Rejected(rule, refusal)}
		}
		return e, problems
	}
	closed := xds.Closed(rule)
	if encoded, refused := xds.Route(closed); len(refused) == 0 {
		return &entry{Rule: closed, Encoded: encoded}, problems
	}
	return nil, problems
}

// serving returns the names of the parents' Points that have something of the node below them: a
// rule that Envoy accepts, or a Point of the node.
func (out *flatOut) serving() []string {
	stands := map[string]bool{}
	above := func(rule *ir.Rule) { stands[rule.Name[:max(strings.LastIndexByte(rule.Name, '>'), 0)]] = true }
	for _, e := range out.Entries {
		above(e.Rule)
	}
	for _, point := range out.Points {
		above(point.Rest)
	}
	var names []string
	for _, name := range out.Live {
		if stands[name] {
			names = append(names, name)
		}
	}
	return names
}

// serves reports whether any part of the node is served below its parent.
func (out *flatOut) serves() bool { return len(out.Live) > 0 && !out.Whole }

// rejection returns why the node, or its included part, is not served below its parent. Its Reason
// is "" if the node is served.
func (out *flatOut) rejection() route.BindingRejection {
	refused := route.BindingRejection{Reason: gwv1.RouteReasonUnsupportedValue}
	switch {
	case out.Conflict != "":
		refused.Message, refused.Hint = "conflict with the parent at "+out.Conflict, "change either side"
	case out.Whole, len(out.Live) == 0 && len(out.Unsupported) > 0:
		refused.Message, refused.Reported = route.Several(out.Unsupported), true
	case len(out.Live) == 0 && len(out.Missed) > 0:
		refused.Message, refused.Hint = route.Several(out.Missed), hintSuperset
		refused.Field, refused.Unfit = out.Missed[0].Field, true
	default:
		return route.BindingRejection{}
	}
	return refused
}

const hintSuperset = "repeat the parent's path, headers, query parameters and method, or inherit them by annotation"

// unresolved returns the verdict about references of the node's own rules to backends that do not
// exist.
func (out *flatOut) unresolved() manifest.Verdict[gwv1.RouteConditionReason] {
	return manifest.Verdict[gwv1.RouteConditionReason](out.Unresolved)
}

// use adds the effect of policies at one rule to the effects at the node.
func (out *flatOut) use(uses []policy.Use) {
	for _, use := range uses {
		i := slices.IndexFunc(out.Uses, func(u policy.Use) bool { return u.Policy == use.Policy })
		switch {
		case i < 0:
			out.Uses = append(out.Uses, use)
		case out.Uses[i].Fate != use.Fate:
			out.Uses[i].Fate = policy.Merged
		}
	}
}

// addBackends notes the backends that the Gateways of the node need.
func (out *flatOut) addBackends(backends []*backend.Key) {
	out.Backends = backend.Unique(append(out.Backends, backends...))
}

// addSignIns notes the secrets of identity providers that the Gateways of the node need.
func (out *flatOut) addSignIns(extensions []manifest.Key) {
	for _, extension := range extensions {
		if !slices.Contains(out.SignIns, extension) {
			out.SignIns = append(out.SignIns, extension)
		}
	}
}

// ifDelegating returns the key of a node that delegates, or nothing.
func ifDelegating(key flatKey, f *flatOut) []flatKey {
	if len(f.Points) == 0 {
		return nil
	}
	return []flatKey{key}
}

// pointsOut is what links read of a node. It is separate, so that an edit of the node's other rules
// does not reach its children.
type pointsOut struct {
	Points []*route.Point
	Hosts  ir.Hosts
	// Closed says whether children of a namespace are over the budget; "" stands for those
	// that it does not have.
	Closed map[string]bool
}

// shuts reports whether the children of the namespace are over the budget. If they are, their links
// and nodes go away.
func (out *pointsOut) shuts(namespace string) bool {
	if closed, ok := out.Closed[namespace]; ok {
		return closed
	}
	return out.Closed[""]
}

// linkOut is the result for a pair of a parent's node and a candidate.
type linkOut struct {
	route.Linked
	// Hosts are those of the root that the child serves.
	Hosts ir.Hosts
	// Cycle is true if the child stands above itself.
	Cycle bool
}

// reject removes all links, for one reason.
func (out *linkOut) reject(why route.BindingRejection) *linkOut {
	out.Links, out.Rejections = nil, []route.BindingRejection{why}
	return out
}
