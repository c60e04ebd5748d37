package translate

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

type nodeIn struct {
	*policyRules
	backend           *memo.Rule[backend.Reference, backend.Resolution]
	admitted          *memo.Rule[manifest.Key, *attachOut]
	routes            *servedRoutes
	quarantine        *quarantineInputs
	WeightScope       WeightScope
	Weighted          bool
	WildcardNamespace string
	TrustedHops       uint32
	backends          *backendObjects
	sockets           *memo.Fold[listen.Socket, manifest.Key, *listen.Listening, ordered.Set[*listen.Listening]]
	Guard             backend.Guard
}

// nodeRules flatten the rules of routes, separately for each port. A root is flattened once for a port. A child is
// flattened once for each chain of parents above it.
type nodeRules struct {
	in   nodeIn
	flat *memo.Rule[flatKey, *flatOut]
	// handed has the aim of what a rule of a route hands down to delegated routes: its mirrors and its filter
	// ExternalAuth.
	handed *memo.Rule[ruleKey, *aim]
	// link returns the link (see linkKey) between the node of a child and the node of its parent. The memo rules flat
	// and link read each other: flat for the child reads link, and link reads flat for the parent. This ends, because
	// the chain of the parent is shorter. Normally, a memo rule is declared before the memo rules that read it. The
	// only exception: flat reads link, but link is declared after flat. link also reads the budget: how many levels
	// of delegation are built (budgetOut).
	link *memo.Rule[linkKey, *linkOut]
}

func newNodeRules(e *memo.Engine, in nodeIn) *nodeRules {
	r := &nodeRules{in: in}
	r.handed = memo.NewRule(e, "handed", r.runHanded, deepEqual)
	r.flat = memo.NewRule(e, "flat", r.runFlat, deepEqual)
	return r
}

func (r *nodeRules) report(all *problemFold) {
	problemsFrom(all, "flat", r.flat, func(f *flatOut) []manifest.Problem { return f.Problems })
}

// runFlat returns the flattened rules of a node (a route in a delegation tree, see flatKey), encoded and with
// policies. The result is empty if the route does not exist, or if the node has no rules to flatten (see setting).
func (r *nodeRules) runFlat(c *memo.Ctx, key flatKey) *flatOut {
	object, ok := r.in.routes.Get(c, key.Route)
	setting, stands := r.setting(c, key)
	if !ok || !stands {
		return &flatOut{Flat: &route.Flat{}}
	}
	if object.Source != manifest.AnyFile {
		setting.Loops = func(key backend.Key) string { return r.loops(c, key) }
	}
	var out *flatOut
	switch closed := object.Closed; {
	case closed == nil:
		return r.flatten(c, key, object, setting)
	case closed.Of != nil:
		out = r.flatten(c, key, closed.Of, setting)
		out.close(object, setting, r.aimsOf(c, closed.Of))
	default:
		out = &flatOut{Hosts: setting.Hosts, Schemes: setting.Schemes, Under: under(setting), Flat: &route.Flat{}}
		out.close(object, setting, r.aimsOf(c, object))
	}
	return out
}

// under returns the names of the parent's delegating matches that lead to a node.
func under(setting route.Setting) (names []string) {
	for _, link := range setting.Links {
		names = append(names, link.Point.Name)
	}
	return names
}

// flatten returns the flattened rules of a route that is not a closed copy, encoded and with policies.
func (r *nodeRules) flatten(c *memo.Ctx, key flatKey, object *manifest.Object, setting route.Setting) *flatOut {
	out := &flatOut{Under: under(setting), Hosts: setting.Hosts, Schemes: setting.Schemes, Flat: route.Flatten(object, setting, func(ref gwv1.BackendObjectReference, calls bool) backend.Resolution {
		to := backend.Refer(key.Route, ref)
		to.GRPC = calls || key.Route.Kind == "GRPCRoute" // gRPC needs HTTP/2, whatever the port's protocol is
		return r.in.backend.Get(c, to)
	})}
	if key.Port == 0 {
		out.Points = nil
	}
	r.in.addPolicies(c, object, out)
	out.rejected, _ = r.in.quarantine.routes.Get(c, key.Route)
	aims := r.aimsOf(c, object)
	for _, point := range out.Points {
		out.guard(point, aims(point.Rest, out.Writes[point.Rest.Name]))
	}
	works := slices.ContainsFunc(out.Points, func(p *route.Point) bool { return !slices.Contains(out.Closed, p.Rule) })
	added := out.addSignInRules(setting.Links, func(rule *ir.Rule) manifest.Key { return r.in.providerAbove(c, rule) })
	for _, rule := range append(added, out.Rules...) { // delegation can create many rules, each with expressions to compile
		c.Pause()
		e, problems := out.encode(rule, aims(rule, out.Writes[rule.Name]))
		if len(problems) > 0 {
			out.Problems = append(out.Problems, problems...)
		}
		if hasErrors(problems) {
			out.Unserved(problems[0].Field + ": " + problems[0].Message)
		}
		if e != nil && key.Port == 0 { // no table contains it
			e = &entry{Rule: e.Rule, Own: e.Own, Aim: e.Aim}
		}
		if to := aims(rule, out.Writes[rule.Name]); e == nil && to != nil {
			out.Unplaced = append(out.Unplaced, to)
		}
		if e != nil {
			entries, problems := out.rejected.withPreflights([]*entry{e}, false)
			out.Entries, out.Problems = append(out.Entries, entries...), append(out.Problems, problems...)
		}
		works = works || e != nil && e.Rule == rule && !slices.Contains(out.Closed, rule.Position[len(rule.Position)-2])
	}
	out.Live = out.serving()
	out.Whole = !works && len(out.Unsupported) > 0
	return out
}

// setting returns the inputs of a node (see flatKey) besides the node's own route: the links to the parent, the
// hosts, and the schemes. The rules of the node are flattened with these inputs. stands is false if the node has no rules to flatten:
// the node is a root that is not attached on the port, or a child without links to its parent. For port 0 (see
// flatKey), stands is true for every root.
func (r *nodeRules) setting(c *memo.Ctx, key flatKey) (s route.Setting, stands bool) {
	s = route.Setting{Port: uint32(key.Port), Wildcard: r.in.WildcardNamespace, Weighted: r.in.Weighted, Siblings: r.in.WeightScope == Siblings, Trusted: r.in.TrustedHops > 0}
	if key.Via != "" {
		link := r.link.Get(c, key.link())
		s.Links, s.Hosts, s.Schemes = link.Links, link.Hosts, link.Schemes
		return s, len(link.Links) > 0
	}
	s.Hosts = ir.EveryHost()
	if key.Port == 0 {
		return s, true
	}
	attach := r.in.admitted.Get(c, key.Route)
	s.Origin, s.Schemes = attach.Origin, attach.schemes(key.Port)
	return s, slices.Contains(attach.Ports, key.Port)
}
