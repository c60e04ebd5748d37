package translate

import (
	"bytes"
	"reflect"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// entry is a rule with its encoding, as tables keep it.
type entry struct {
	Rule    *ir.Rule
	Encoded []byte
	// Own are the policies of the route and those above it, nil for none.
	Own *policy.Resolved
}

func compareEntries(a, b *entry) int { return route.Compare(a.Rule, b.Rule) }

// sameEntry compares what Envoy sees first, then what explain shows.
func sameEntry(a, b *entry) bool {
	return a == b || a != nil && b != nil && bytes.Equal(a.Encoded, b.Encoded) && reflect.DeepEqual(a.Rule, b.Rule)
}

// flatOut is a route's rules on one port.
type flatOut struct {
	*route.Flat
	// Under are the names of the parent's Points that the node is linked to.
	Under []string
	// Hosts are those of the root that the node serves.
	Hosts   ir.Hosts
	Entries []*entry
	// Uses tells what became of the policies at the rules.
	Uses []policy.Use
	// Policies are those of each rule, by its name.
	Policies map[string]*policy.Resolved
	// Whole is true if no rule of the route works as it is written.
	Whole bool
	// refused is what Envoys said of the route's rules.
	refused refusals
}

// mountOut joins where a route attaches and what it serves there.
type mountOut struct {
	Attach *attachOut
	// flats are its rules by port, in the order of Attach.Ports; one for no port where it
	// serves on none.
	flats  []*flatOut
	placed placed
}

func sameMount(a, b *mountOut) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Attach == b.Attach && slices.Equal(a.flats, b.flats) && samePlaced(a.placed, b.placed)
}

type nodeIn struct {
	*policyRules
	backend    *memo.Rule[backend.Reference, backend.Resolution]
	admitted   *memo.Rule[manifest.Key, *attachOut]
	routes     *objects
	quarantine *quarantineInputs
	Options
}

// nodeRules flatten the routes: each alone, and below each chain of parents.
type nodeRules struct {
	in   nodeIn
	flat *memo.Rule[flatKey, *flatOut]
	// link is what a node below others hangs on. It is the one rule that is declared later than a
	// rule that reads it: a link reads the node above, whose chain is shorter, and in between the
	// budget and all that it counts, so that no order has all of them one behind the other.
	link *memo.Rule[linkKey, *linkOut]
}

func newNodeRules(e *memo.Engine, in nodeIn) *nodeRules {
	r := &nodeRules{in: in}
	r.flat = memo.NewRule(e, "flat", r.runFlat, deepEqual)
	return r
}

func (r *nodeRules) report(all *problemFold) {
	problemsFrom(all, "flat", r.flat, func(f *flatOut) []manifest.Problem { return f.Problems })
}

type rootIn struct {
	*spreadRules
	*hostPolicyRules
	flat   *memo.Rule[flatKey, *flatOut]
	routes *objects
}

// rootRules put routes that attach to listeners into tables.
type rootRules struct {
	in    rootIn
	mount *memo.Rule[manifest.Key, *mountOut]
}

func newRootRules(e *memo.Engine, in rootIn) *rootRules {
	r := &rootRules{in: in}
	r.mount = memo.NewRule(e, "mount", r.runMount, sameMount)
	memo.EachOf(r.mount, in.routes, inTables)
	return r
}

// inTables names a route whose rules stand in tables.
func inTables(key manifest.Key, _ *manifest.Object) []manifest.Key {
	if kind, _ := route.KindOf(key); !kind.Tables {
		return nil
	}
	return []manifest.Key{key}
}

func (r *nodeRules) runFlat(c *memo.Ctx, key flatKey) *flatOut {
	object, ok := r.in.routes.Get(c, key.Route)
	setting, hosts, stands := r.setting(c, key)
	if !ok || !stands {
		return &flatOut{Flat: &route.Flat{}}
	}
	out := &flatOut{Hosts: hosts, Flat: route.Flatten(object, setting, func(ref gwv1.BackendObjectReference) backend.Resolution {
		to := backend.Refer(key.Route, ref)
		to.GRPC = key.Route.Kind == "GRPCRoute" // calls need HTTP/2, whatever the port says
		return r.in.backend.Get(c, to)
	})}
	for _, link := range setting.Links {
		out.Under = append(out.Under, link.Point.Name)
	}
	if key.Port == 0 {
		out.Points = nil
	}
	r.in.addPolicies(c, object, out)
	out.refused, _ = r.in.quarantine.routes.Get(c, key.Route)
	works := len(out.Points) > 0
	for _, rule := range out.Rules { // delegation makes many of few, and each may have expressions to be compiled
		c.Pause()
		e, problems := out.encode(rule)
		if len(problems) > 0 {
			out.Problems = append(out.Problems, problems...)
			out.Unserved(problems[0].Field + ": " + problems[0].Message)
		}
		if e != nil && key.Port == 0 { // it stands in no table
			e = &entry{Rule: e.Rule, Own: e.Own}
		}
		if e != nil {
			out.Entries = append(out.Entries, e)
		}
		works = works || e != nil && e.Rule == rule && !slices.Contains(out.Closed, rule.Position[len(rule.Position)-2])
	}
	out.Live = out.serving()
	out.Whole = !works && len(out.Unsupported) > 0
	return out
}

// setting returns what a node stands in; stands is false when its root is not
// attached on the port, or the links above it are gone.
func (r *nodeRules) setting(c *memo.Ctx, key flatKey) (s route.Setting, hosts ir.Hosts, stands bool) {
	s = route.Setting{Port: uint32(key.Port), Wildcard: r.in.WildcardNamespace, Weighted: r.in.Weighted, Siblings: r.in.WeightScope == Siblings}
	if key.Via != "" {
		link := r.link.Get(c, key.link())
		s.Links = link.Links
		s.Hosts = link.Hosts
		return s, link.Hosts, len(link.Links) > 0
	}
	s.Hosts = ir.EveryHost()
	if key.Port == 0 {
		return s, s.Hosts, true
	}
	attach := r.in.admitted.Get(c, key.Route)
	s.Origin = attach.Origin
	return s, s.Hosts, slices.Contains(attach.Ports, key.Port)
}

// encode returns the entry of a rule. What Envoy would reject answers 500 in its place;
// when it would reject the match itself, there is no place (docs/design/xds.md).
func (out *flatOut) encode(rule *ir.Rule) (*entry, []manifest.Problem) {
	encoded, problems := xds.Route(rule)
	if len(problems) == 0 {
		e, refusal := out.refused.mark(&entry{Rule: rule, Encoded: encoded, Own: out.Policies[rule.Name]})
		if refusal != nil {
			problems = []manifest.Problem{xds.Rejected(rule, refusal.Match, refusal.Words)}
		}
		return e, problems
	}
	closed := xds.Closed(rule)
	if encoded, refused := xds.Route(closed); len(refused) == 0 {
		return &entry{Rule: closed, Encoded: encoded}, problems
	}
	return nil, problems
}

// runMount flattens the route for every port that it serves on; a route that
// serves nowhere is still looked at, for its status.
func (r *rootRules) runMount(c *memo.Ctx, key manifest.Key) *mountOut {
	out := &mountOut{Attach: r.in.where(c, key)}
	ports := out.Attach.Ports
	if len(ports) == 0 {
		ports = []int32{0}
	}
	out.flats = make([]*flatOut, len(ports))
	for i, port := range ports {
		out.flats[i] = r.in.flat.Get(c, flatKey{Route: key, Port: port})
	}
	out.placed = r.in.place(c, key, func(yield func(tableKey, []*entry) bool) {
		more := true
		out.tables(func(table tableKey, flat *flatOut) { more = more && yield(table, flat.Entries) })
	})
	return out
}

// tables gives the tables that the route's rules belong to, once each.
func (m *mountOut) tables(yield func(tableKey, *flatOut)) {
	seen := map[tableKey]bool{}
	for _, parent := range m.Attach.Parents {
		for _, place := range parent.Places {
			key := tableOf(parent.Gateway, place)
			if !seen[key] {
				seen[key] = true
				yield(key, m.flat(place.Port))
			}
		}
	}
}
