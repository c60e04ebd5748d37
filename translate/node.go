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

// The tree below a root. A node is a route under one chain of parents (flatKey). A link is a pair: the node of
// a parent, and a candidate for a child. The rules of nodes read links, and the rules of links read nodes. The
// value of a node or link is empty if its parent no longer exists. So a whole subtree becomes empty if its root
// is removed.

// flatOut has the flattened rules of a route on one port, below one chain of parents.
type flatOut struct {
	*route.Flat
	// Under are the names of the parent's delegating matches (route.Point) that lead to the node (flatKey).
	Under []string
	// Hosts are the hosts of the root that the node (flatKey) serves.
	Hosts ir.Hosts
	// Schemes are those of the root's listeners (route.Setting).
	Schemes []string
	Entries []*entry
	// Uses says how much of each policy is effective at the rules.
	Uses []policy.Use
	// Policies has the merged policies of each rule, by the name of the rule.
	Policies map[string]*policy.Resolved
	// SignIns are the GatewayExtensions of the identity providers that users of the rules sign in with.
	SignIns []manifest.Key
	// Whole is true if the route is rejected as a whole, because no rule of the route works as it is written.
	// Unsupported then says why.
	Whole bool
	// Writes are the identity headers that the policies of each rule write, by the name of the rule. Rules without
	// such headers are not in it. Guards are the aims of the rules Point.Rest, by the name of the Point.
	Writes map[string][]*written
	Guards map[string]*aim
	// Unplaced are the aims of rules that no virtual host has, because their match cannot be encoded.
	Unplaced []*aim
	// rejected are the rejections of the route's rules by Envoys.
	rejected rejections
}

// encode returns a rule with its encoding for Envoy, and the problems of the rule. The parameter to is entry.Aim. If no connected Envoy serves
// the rule, because Envoys rejected it or are too old for it, Rule.Rejected of the entry is set (see
// rejections.mark). If xds.Route refuses the rule's action, the entry answers 500 (UNAVAILABLE for a GRPCRoute).
// If xds.Route refuses even the match, the entry is nil (docs/design/xds.md).
func (out *flatOut) encode(rule *ir.Rule, to *aim) (*entry, []manifest.Problem) {
	encoded, problems := xds.RouteAndWarnings(rule)
	if encoded != nil {
		e, refusal := out.rejected.mark(&entry{Rule: rule, Encoded: encoded, Own: out.Policies[rule.Name], Aim: to})
		if refusal != nil {
			problems = append(problems, xds.Rejected(rule, refusal))
		}
		return e, problems
	}
	closed := xds.Closed(rule)
	if encoded, refused := xds.Route(closed); len(refused) == 0 {
		return &entry{Rule: closed, Encoded: encoded, Aim: to}, problems
	}
	return nil, problems
}

// serving returns the names in out.Live through which the node (see flatKey) really serves, in the order of
// out.Live. The names in out.Live are names of Points (delegating matches) of the parent. The node serves through
// such a Point if an entry or a Point of the node is below it.
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

// serves reports whether any rule of the node is served below its parent.
func (out *flatOut) serves() bool { return len(out.Live) > 0 && !out.Whole }

// rejection returns why the node (see flatKey) is not served below its parent. There are two ways to be served
// there: the node's parentRefs name the parent (inclusion, GEP-1058), or a rule of the parent selects the node
// (delegation, EP-10943). If Flat.Conflict is set, the rejection is only about inclusion: delegation may still work.
// If the Reason is "", the node is served, or the reason is not known.
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

// hintSuperset is the hint for a child whose match does not fit the parent's match.
const hintSuperset = "repeat the parent's path, headers, query parameters and method, or inherit them by annotation"

// unresolved returns the verdict for the condition ResolvedRefs: whether all backends of the node's own rules
// can be resolved. References to child routes do not count.
func (out *flatOut) unresolved() manifest.Verdict[gwv1.RouteConditionReason] {
	return manifest.Verdict[gwv1.RouteConditionReason](out.Unresolved)
}

// use records the effects of policies at one rule of the node in Uses.
func (out *flatOut) use(uses []policy.Use) { out.Uses = joinUses(out.Uses, uses) }

// joinUses adds the effects of policies at one more rule to a list (the parameter all), and returns the list. A policy
// that is already in the list with another effect gets the effect Merged.
func joinUses(all, uses []policy.Use) []policy.Use {
	for _, use := range uses {
		i := slices.IndexFunc(all, func(u policy.Use) bool { return u.Policy == use.Policy })
		switch {
		case i < 0:
			all = append(all, use)
		case all[i].Effect != use.Effect:
			all[i].Effect = policy.Merged
		}
	}
	return all
}

// addBackends adds backends to Backends, each once. The Gateways of the node need clusters for them.
func (out *flatOut) addBackends(backends []*backend.Key) {
	out.Backends = backend.Unique(append(out.Backends, backends...))
}

// addSignIns adds GatewayExtensions of identity providers to SignIns, each once.
func (out *flatOut) addSignIns(extensions []manifest.Key) {
	for _, extension := range extensions {
		if !slices.Contains(out.SignIns, extension) {
			out.SignIns = append(out.SignIns, extension)
		}
	}
}

// ifDelegating returns a list with the key of the node if the node delegates to child routes, and nil
// otherwise.
func ifDelegating(key flatKey, f *flatOut) []flatKey {
	if len(f.Points) == 0 {
		return nil
	}
	return []flatKey{key}
}

// pointsOut is the part of a node (see flatKey) that its candidate children depend on: the memo rule "link" reads it
// for each candidate. Points and Hosts are from the node's flatOut, and Closed is from the budgets. The type is
// separate from flatOut, so that the children are not computed again if only rules of the route change that do not
// delegate.
type pointsOut struct {
	Points []*route.Point
	Hosts  ir.Hosts
	// Schemes are those of the root's listeners (route.Setting).
	Schemes []string
	// Closed says for each namespace whether routes of the namespace would exceed the budget as children. The
	// entry "" is for all namespaces without an entry of their own. Closed is nil if no budget is exceeded.
	Closed map[string]bool
}

// overBudget reports whether the budget (see budgetOut) excludes the routes of a namespace as children of the node.
// If overBudget returns true, no links between the node and these routes are made (see linkOut).
func (out *pointsOut) overBudget(namespace string) bool {
	if closed, ok := out.Closed[namespace]; ok {
		return closed
	}
	return out.Closed[""]
}

// linkOut is the result of the memo rule "link" for a link (linkKey). A link is a pair: the node of a parent, and a
// route that may become a child of this node (the candidate).
type linkOut struct {
	route.Linked
	// Hosts are the hosts of the root that the child serves.
	Hosts ir.Hosts
	// Schemes are those of the root's listeners (route.Setting).
	Schemes []string
	// Cycle is true if the candidate is the parent itself, or a route above the parent.
	Cycle bool
}

// reject makes the whole parent reject the candidate: it removes all links, and replaces all rejections with
// one (why). It returns out.
func (out *linkOut) reject(why route.BindingRejection) *linkOut {
	out.Links, out.Rejections = nil, []route.BindingRejection{why}
	return out
}
