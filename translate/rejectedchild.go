package translate

import (
	"cmp"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// Candidates that are rejected below a node. Both the status of the parent and the status of the candidate
// report the rejection (docs/design/routes.md).

// rejectedChild is a candidate that a node rejects, completely or in part. A node is a route in a delegation tree
// (see flatKey). A rule of this route has a Point for each of its matches that delegate (see route.Point). A
// candidate is a route that a Point of the node selects or admits, or whose parentRefs name the node's route.
type rejectedChild struct {
	rejectedChildKey
	// Points has the names of the node's Points that do not accept the candidate. But Points is empty if rules of the
	// node reject the candidate (Node is false) and other Points accept it (Elsewhere is true). Why has the reasons.
	Points []string
	Why    []route.BindingRejection
	// Cycle is true if the candidate is the node's own route, or a route above the node. Elsewhere is true if other
	// Points of the node accept the candidate.
	Cycle, Elsewhere bool
}

// rejectedChildKey distinguishes the rejectedChild values of one parent node (flatKey): each has its own key.
type rejectedChildKey struct {
	// Child is the rejected candidate: the route that could be a child of the parent.
	Child manifest.Key
	// Node distinguishes two kinds of rejection:
	//   - false: some rules of the parent do not accept the candidate as child.
	//   - true: rules of the parent accept the candidate, so it is a child with a node in the tree (flatKey). But some
	//     Points of the parent (see route.Point) lead to none of the child's rules.
	Node bool
}

// compareRejected orders cycles first, then by candidate.
func compareRejected(a, b *rejectedChild) int {
	return cmp.Or(ir.TrueFirst(a.Cycle, b.Cycle), manifest.CompareKeys(a.Child, b.Child), ir.TrueFirst(a.Node, b.Node))
}

// rejectedLinks yields the candidate of a link as a rejectedChild, if rules of the parent reject the candidate. The
// parameter key has the parent's node and the candidate. The parent's node is the Key of the yielded Place.
func rejectedLinks(key linkKey, l *linkOut, yield func(memo.Place[flatKey, rejectedChildKey], *rejectedChild)) {
	if len(l.Rejections) == 0 {
		return
	}
	out := &rejectedChild{rejectedChildKey: rejectedChildKey{Child: key.Child}, Why: l.Rejections, Cycle: l.Cycle, Elsewhere: len(l.Links) > 0}
	if !out.Elsewhere {
		out.Points = l.Points
	}
	yield(memo.Place[flatKey, rejectedChildKey]{Key: key.Parent, ID: out.rejectedChildKey}, out)
}

// rejectedNodes yields a rejectedChild for a child route, if its parent delegates to the child by some matches
// (route.Point) that lead to none of the child's rules. The parameter key is the node of the child. The rejectedChild
// belongs to the node of the parent, which is the field Key of the yielded Place.
func rejectedNodes(key flatKey, f *flatOut, yield func(memo.Place[flatKey, rejectedChildKey], *rejectedChild)) {
	out := &rejectedChild{rejectedChildKey: rejectedChildKey{key.Route, true}, Elsewhere: len(f.Live) > 0}
	live := setOf(f.Live)
	for _, point := range f.Under {
		if !live[point] {
			out.Points = append(out.Points, point)
		}
	}
	if len(out.Points) == 0 {
		return
	}
	why := f.rejection()
	if why.Reason == "" {
		why = route.BindingRejection{Reason: gwv1.RouteReasonUnsupportedValue, Message: "none of its matches fits the parent's match", Hint: hintSuperset}
	}
	out.Why = []route.BindingRejection{why}
	yield(memo.Place[flatKey, rejectedChildKey]{Key: key.link().Parent, ID: out.rejectedChildKey}, out)
}

// setOf returns the names as a set. In a set, a name is found fast, even if there are thousands of names.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// matters reports whether users must still see a rejection (why) if the delegating rule accepts other routes. The
// result is true for a cycle. For any other rejection, it is false in two cases, and true otherwise:
//   - The candidate is a child of the parent (r.Node), and other delegating matches of the parent lead to its rules
//     (r.Elsewhere).
//   - The candidate's parentRef has a sectionName, and no rule with this name has allowedRoutes.
func (r *rejectedChild) matters(why route.BindingRejection) bool {
	return r.Cycle || !(r.Node && r.Elsewhere) && (why.Section == "" || why.Rule != "")
}

// reasonUnder returns the first reason in r.Why that applies to a delegating match (the parameter point). If no
// reason applies, ok is false.
//   - A reason with a Rule applies to all Points of that rule.
//   - A reason without a Rule applies to the Points in r.Points. If r.Points is empty, and no Point of the parent
//     accepts the candidate (r.Elsewhere is false), the reason applies to every Point whose rule has allowedRoutes.
func (r *rejectedChild) reasonUnder(point *route.Point) (why route.BindingRejection, ok bool) {
	for _, why := range r.Why {
		switch {
		case why.Rule == point.At(), why.Rule == "" && slices.Contains(r.Points, point.Name):
			return why, true
		case why.Rule == "" && len(r.Points) == 0 && !r.Elsewhere && point.Allowed != nil:
			return why, true
		}
	}
	return why, false
}
