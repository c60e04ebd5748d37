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

// Why candidates do not stand below a node: their parent says so as well as
// they themselves (docs/design/routes.md).

// rejectedChild is a candidate that some Points of a node do not accept, although they name or
// admit it, or the candidate names them.
type rejectedChild struct {
	rejectedChildKey
	// Points are the names of those that it does not stand under.
	Points []string
	Why    []route.BindingRejection
	// Cycle is true if the candidate stands above itself, Elsewhere that it stands
	// under other rules of the parent.
	Cycle, Elsewhere bool
}

// rejectedChildKey is a candidate, with whether its own node was rejected or the candidate before
// it had a node.
type rejectedChildKey struct {
	Child manifest.Key
	Node  bool
}

// compareRejected sorts cycles first.
func compareRejected(a, b *rejectedChild) int {
	return cmp.Or(ir.TrueFirst(a.Cycle, b.Cycle), manifest.CompareKeys(a.Child, b.Child), ir.TrueFirst(a.Node, b.Node))
}

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

// setOf returns the names as a set, because a node can be below thousands of Points.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// matters reports whether a rejection is worth reporting under a rule that accepts other routes. It
// is not if other rules accept the candidate, or if the candidate names a rule that does not exist.
func (r *rejectedChild) matters(why route.BindingRejection) bool {
	return r.Cycle || !(r.Node && r.Elsewhere) && (why.Section == "" || why.Rule != "")
}

// reasonUnder returns the first reason why point does not accept the candidate, and false if none applies to it. A
// reason without a rule applies to the Points in r.Points; if there are none and the candidate is not bound
// elsewhere, to every Point with allowedRoutes.
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
