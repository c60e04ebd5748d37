package translate

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// attachOut says where a route attaches, and why not elsewhere.
type attachOut struct {
	Origin  *ir.Origin
	Parents []parentOut
	// Ports are those that the route serves on, sorted.
	Ports    []int32
	Problems []manifest.Problem
	// Bound says which hosts the namespace may serve, where it asks for others or for all.
	Bound string
	// Lost are the hosts that routes of the other kind have, by listener.
	Lost map[listenerKey]listen.Loss
}

// parentOut is one parentRef.
type parentOut struct {
	Ref     gwv1.ParentReference
	Index   int // in parentRefs
	Gateway string
	listen.Attachment
}

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
	// Whole tells that no rule of the route works as it is written.
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

func (n *network) declareRoutes(e *memo.Engine) {
	n.attach = memo.NewRule(e, "attach", n.runAttach, deepEqual)
	memo.Each(n.attach, n.in.routes)
	n.declareContest(e)
	n.flat = memo.NewRule(e, "flat", n.runFlat, deepEqual)
	n.declareSpread(e)
	n.mount = memo.NewRule(e, "mount", n.runMount, sameMount)
	memo.EachOf(n.mount, n.in.routes, inTables)
}

// inTables names a route whose rules stand in tables.
func inTables(key manifest.Key, _ *manifest.Object) []manifest.Key {
	if kind, _ := route.KindOf(key); !kind.Tables {
		return nil
	}
	return []manifest.Key{key}
}

func (n *network) runAttach(c *memo.Ctx, key manifest.Key) *attachOut {
	object, ok := n.in.routes.Get(c, key)
	if !ok {
		return &attachOut{}
	}
	from, out := route.Read(object), &attachOut{Origin: route.OriginOf(object)}
	if bound, narrower := n.bindHosts(c, &from); narrower {
		out.Bound = bound.String()
		out.Problems = hostProblems(&from, bound)
	}
	for i, ref := range from.Parents {
		switch {
		case route.ToRoute(key, ref):
		case !toListeners(ref):
			out.Problems = append(out.Problems, strangeParent(key, i, ref))
		default:
			n.attachTo(c, out, &from, i)
		}
	}
	if len(from.Parents) == 0 && key.Kind != "HTTPRoute" { // that one may stand below another
		out.Problems = append(out.Problems, manifest.Problem{
			Code: "ServesNowhere", Severity: manifest.Warning, Object: key, Field: "spec",
			Message: "this route is never reached: it has no parentRefs", Hint: "add a parentRef to a Gateway",
		})
	}
	slices.Sort(out.Ports)
	out.Ports = slices.Compact(out.Ports)
	return out
}

// strangeParent refuses a parentRef to what no route of its kind stands under.
func strangeParent(key manifest.Key, i int, ref gwv1.ParentReference) manifest.Problem {
	kind, kinds, hint := "", []string{"Gateway", kindListenerSet}, fmt.Sprintf("a %s stands under a Gateway or a ListenerSet", key.Kind)
	if ref.Kind != nil {
		kind = string(*ref.Kind)
	}
	if key.Kind == "HTTPRoute" {
		kinds, hint = []string{"HTTPRoute", "Gateway", kindListenerSet}, "an HTTPRoute stands under a Gateway, a ListenerSet or another HTTPRoute"
	}
	if like := manifest.Nearest(kind, kinds); like != "" {
		hint = fmt.Sprintf("write kind: %s, of group %s", like, gwv1.GroupName)
	}
	return parentProblem(key, i, "UnsupportedParent", fmt.Sprintf("a parentRef of kind %s is not followed", kind), hint)
}

func parentProblem(key manifest.Key, i int, code, message, hint string) manifest.Problem {
	return manifest.Problem{
		Code: code, Severity: manifest.Error, Object: key,
		Field: fmt.Sprintf("spec.parentRefs[%d]", i), Message: message, Hint: hint,
	}
}

// toListeners tells whether a parentRef names an object that has listeners.
func toListeners(ref gwv1.ParentReference) bool {
	return (ref.Group == nil || *ref.Group == gwv1.GroupName) && (ref.Kind == nil || *ref.Kind == "Gateway" || *ref.Kind == kindListenerSet)
}

// parentKey names the object with listeners that a parentRef leads to.
func parentKey(from manifest.Key, ref gwv1.ParentReference) manifest.Key {
	parent := manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: from.Namespace, Name: string(ref.Name)}
	if ref.Kind != nil {
		parent.Kind = string(*ref.Kind)
	}
	if ref.Namespace != nil {
		parent.Namespace = string(*ref.Namespace)
	}
	return parent
}

// attachTo resolves the i-th parentRef. A Gateway that is not ours is somebody
// else's to speak of.
func (n *network) attachTo(c *memo.Ctx, out *attachOut, from *route.Common, i int) {
	ref := from.Parents[i]
	p, ours := n.attachment(c, parentKey(from.Key, ref), ref, from)
	if !ours {
		return
	}
	p.Index = i
	switch {
	case reasonBound(p.Refused.Reason): // hostProblems say it
	case p.Refused.Good():
		p.Refused.Message = out.Bound
	default:
		if out.Bound != "" && p.Refused.Reason == gwv1.RouteReasonNoMatchingListenerHostname {
			p.Refused.Message += "; " + out.Bound
		}
		out.Problems = append(out.Problems, parentProblem(from.Key, i, string(p.Refused.Reason), p.Refused.Message, p.Hint))
	}
	if p.Shadowed != "" {
		problem := parentProblem(from.Key, i, "ShadowedByListener", p.Shadowed, "attach it to that listener, which is more specific and alone serves its host")
		problem.Severity = manifest.Warning
		out.Problems = append(out.Problems, problem)
	}
	out.Problems = append(out.Problems, n.uncovered(c, from, &p)...)
	for _, place := range p.Places {
		out.Ports = append(out.Ports, place.Port)
	}
	out.Parents = append(out.Parents, p)
}

func (n *network) runFlat(c *memo.Ctx, key flatKey) *flatOut {
	object, ok := n.in.routes.Get(c, key.Route)
	setting, hosts, stands := n.setting(c, key)
	if !ok || !stands {
		return &flatOut{Flat: &route.Flat{}}
	}
	out := &flatOut{Hosts: hosts, Flat: route.Flatten(object, setting, func(ref gwv1.BackendObjectReference) backend.Resolution {
		to := backend.Refer(key.Route, ref)
		to.GRPC = key.Route.Kind == "GRPCRoute" // calls need HTTP/2, whatever the port says
		return n.backend.Get(c, to)
	})}
	for _, link := range setting.Links {
		out.Under = append(out.Under, link.Point.Name)
	}
	if key.Port == 0 {
		out.Points = nil
	}
	n.addPolicies(c, object, out)
	out.refused, _ = n.in.quarantine.routes.Get(c, key.Route)
	works := len(out.Points) > 0
	for _, rule := range out.Rules { // delegation makes many of few, and each may have expressions to be compiled
		c.Pause()
		e, problems := out.encode(rule)
		if len(problems) > 0 {
			out.Problems = append(out.Problems, problems...)
			out.Unserved(problems[0].Field + ": " + problems[0].Message)
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

// setting gives what a node stands in; stands is false when its root is not
// attached on the port, or the links above it are gone.
func (n *network) setting(c *memo.Ctx, key flatKey) (s route.Setting, hosts ir.Hosts, stands bool) {
	s = route.Setting{Port: uint32(key.Port), Wildcard: n.WildcardNamespace, Weighted: n.Weighted, Siblings: n.WeightScope == Siblings}
	if key.Via != "" {
		link := n.link.Get(c, key.link())
		s.Links = link.Links
		s.Hosts = link.Hosts
		return s, link.Hosts, len(link.Links) > 0
	}
	s.Hosts = ir.EveryHost()
	if key.Port == 0 {
		return s, s.Hosts, true
	}
	attach := n.admitted.Get(c, key.Route)
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
func (n *network) runMount(c *memo.Ctx, key manifest.Key) *mountOut {
	out := &mountOut{Attach: n.where(c, key)}
	ports := out.Attach.Ports
	if len(ports) == 0 {
		ports = []int32{0}
	}
	out.flats = make([]*flatOut, len(ports))
	for i, port := range ports {
		out.flats[i] = n.flat.Get(c, flatKey{Route: key, Port: port})
	}
	out.placed = n.place(c, key, func(yield func(tableKey, []*entry) bool) {
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
