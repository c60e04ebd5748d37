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

// refusal is a candidate that does not stand under some Points of a node that
// name or admit it, or that it asked for.
type refusal struct {
	refusalKey
	// Points are the names of those that it does not stand under.
	Points []string
	Why    []route.Refusal
	// Cycle is true if the candidate stands above itself, Elsewhere that it stands
	// under other rules of the parent.
	Cycle, Elsewhere bool
}

// refusalKey is a candidate, and whether it was refused by its own node or
// before there was one.
type refusalKey struct {
	Child manifest.Key
	Node  bool
}

// compareRefusals puts cycles first.
func compareRefusals(a, b *refusal) int {
	return cmp.Or(ir.TrueFirst(a.Cycle, b.Cycle), manifest.CompareKeys(a.Child, b.Child), ir.TrueFirst(a.Node, b.Node))
}

func refusedLinks(key linkKey, l *linkOut, yield func(memo.Place[flatKey, refusalKey], *refusal)) {
	if len(l.Refused) == 0 {
		return
	}
	out := &refusal{refusalKey: refusalKey{Child: key.Child}, Why: l.Refused, Cycle: l.Cycle, Elsewhere: len(l.Links) > 0}
	if !out.Elsewhere {
		out.Points = l.Points
	}
	yield(memo.Place[flatKey, refusalKey]{Key: key.Parent, ID: out.refusalKey}, out)
}

func refusedNodes(key flatKey, f *flatOut, yield func(memo.Place[flatKey, refusalKey], *refusal)) {
	out := &refusal{refusalKey: refusalKey{key.Route, true}, Elsewhere: len(f.Live) > 0}
	live := setOf(f.Live)
	for _, point := range f.Under {
		if !live[point] {
			out.Points = append(out.Points, point)
		}
	}
	if len(out.Points) == 0 {
		return
	}
	why := f.refusal()
	if why.Reason == "" {
		why = route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: "none of its matches fits the parent's match", Hint: hintSuperset}
	}
	out.Why = []route.Refusal{why}
	yield(memo.Place[flatKey, refusalKey]{Key: key.link().Parent, ID: out.refusalKey}, out)
}

// setOf returns the names as a set: a node can be placed under thousands of Points.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// matters reports whether the refusal is of interest under a rule that others stand
// under: not of a route that has its place under other rules, or asked for a rule
// that there is not.
func (r *refusal) matters(why route.Refusal) bool {
	return r.Cycle || !(r.Node && r.Elsewhere) && (why.Section == "" || why.Rule != "")
}

// at returns the reason why the candidate does not stand under a Point. Who asked
// for no rule in particular, and was admitted by none, is of interest to each
// that admits some.
func (r *refusal) at(point *route.Point) (why route.Refusal, ok bool) {
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
