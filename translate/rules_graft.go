package translate

import (
	"cmp"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// graftOut is what a node adds to the tables of its root.
type graftOut struct {
	Tables   []tableKey
	Entries  []*entry
	Backends []*backend.Key
	// Uses tells what became of policies at the rules of a child.
	Uses []policy.Use
	// Unresolved says what the route's own rules hand requests to in vain.
	Unresolved manifest.Verdict[gwv1.RouteConditionReason]
	// Beside tells of routes that are refused under rules that others stand under.
	Beside   []string
	Problems []manifest.Problem
	placed   placed
}

// bindingOut is what a child has come to under one parent, below one chain. The
// entries of its status are made from it.
type bindingOut struct {
	Parent manifest.Key
	// Named is true if a rule of the parent names the child.
	Named bool
	// Sections are the names of the parent's rules that it stands under, "" for
	// one without.
	Sections []string
	Refused  []route.Refusal
	Resolved manifest.Verdict[gwv1.RouteConditionReason]
	// Missed are matches that do not stand here; Unsupported says what else of
	// those that do is not served as written.
	Missed      []route.Miss
	Unsupported []string
}

// bindingOf is a binding with its key, as the fold of a child keeps it.
type bindingOf struct {
	key linkKey
	*bindingOut
}

func compareBindings(a, b *bindingOf) int {
	return cmp.Or(manifest.CompareKeys(a.Parent, b.Parent), cmp.Compare(a.key.Parent.Port, b.key.Parent.Port), cmp.Compare(a.key.Parent.Via, b.key.Parent.Via))
}

type graftIn struct {
	*hintRules
	*attachRules
	*hostPolicyRules
	*offerRules
	*budgetRules
	*linkRules
	flat     *memo.Rule[flatKey, *flatOut]
	overload *memo.Rule[struct{}, *overloads]
	routes   *objects
	Options
}

// graftRules put what nodes hand down into the tables of their roots, and say what became of
// the children.
type graftRules struct {
	in       graftIn
	graft    *memo.Rule[flatKey, *graftOut]
	binding  *memo.Rule[linkKey, *bindingOut]
	bindings *memo.Fold[manifest.Key, linkKey, *bindingOf, memo.Ordered[*bindingOf]]
}

func newGraftRules(e *memo.Engine, in graftIn) *graftRules {
	r := &graftRules{in: in}
	r.graft = memo.NewRule(e, "graft", r.runGraft, deepEqual)
	memo.EachOf(r.graft, in.flat, ifDelegating)
	memo.EachOf(r.graft, in.link, childOf)

	r.binding = memo.NewRule(e, "binding", r.runBinding, deepEqual)
	memo.EachOf(r.binding, in.pairs, func(p memo.Pair[flatKey, manifest.Key], _ struct{}) []linkKey { return []linkKey{{p.Left, p.Right}} })
	r.bindings = memo.NewFold[manifest.Key, linkKey](e, "bindings", gather[linkKey](compareBindings), memo.Ordered[*bindingOf].Same)
	memo.From(r.bindings, r.binding, func(key linkKey, b *bindingOut, yield func(memo.Place[manifest.Key, linkKey], *bindingOf)) {
		if b != nil {
			yield(memo.Place[manifest.Key, linkKey]{Key: key.Child, ID: key}, &bindingOf{key, b})
		}
	}, deepEqual)
	return r
}

func (r *graftRules) report(all *problemFold) {
	problemsFrom(all, "graft", r.graft, func(g *graftOut) []manifest.Problem { return g.Problems })
}

// runGraft joins a node to the places of its root.
func (r *graftRules) runGraft(c *memo.Ctx, key flatKey) *graftOut {
	flat := r.in.flat.Get(c, key)
	tables, guests := r.in.tablesOf(c, key, flat.Hosts)
	out := &graftOut{Tables: append(tables, guests...)}
	over := r.in.overload.Get(c, struct{}{})
	if over.cuts(key) {
		out.Tables = nil
	}
	if key.Via != "" {
		out.Entries, out.Backends = slices.Clone(flat.Entries), flat.Backends
		out.Uses = flat.Uses
	}
	budgets := r.in.overBudget(c, key)
	for _, point := range flat.Points {
		found, stopped := r.searchOf(c, key, point), r.in.overPoint(c, key, point, budgets)
		if stopped != nil {
			out.tooMany(point, stopped)
		} else {
			out.complain(found)
		}
		if found.live > 0 && found.missing == "" && stopped == nil && !point.Guarded && !over.closes(key, point) {
			continue
		}
		e, problems := flat.encode(point.Rest)
		if out.Problems = append(out.Problems, problems...); e != nil {
			out.Entries = append(out.Entries, e)
		}
	}
	out.placed = r.in.place(c, key.Route, func(yield func(tableKey, []*entry) bool) {
		for _, table := range out.Tables {
			if !yield(table, out.Entries) {
				return
			}
		}
	})
	return out
}

// resolved reports whether the node's own rules hand requests to somebody; its
// message tells who is left out of those that do.
func (out *graftOut) resolved() manifest.Verdict[gwv1.RouteConditionReason] {
	verdict := out.Unresolved
	if beside := route.Several(out.Beside); verdict.Good() {
		verdict.Message = beside
	} else if beside != "" {
		verdict.Message += "; " + beside
	}
	return verdict
}

// runBinding returns the child's status for one parent; nil for a parent that
// never asked for it, as a wildcard does of a root.
func (r *graftRules) runBinding(c *memo.Ctx, key linkKey) *bindingOut {
	link := r.in.link.Get(c, key)
	out := &bindingOut{Parent: key.Parent.Route, Named: link.Named, Refused: link.Refused}
	if len(link.Links) == 0 {
		if len(link.Refused) == 0 {
			return nil
		}
		return out
	}
	if why, cut := r.in.overload.Get(c, struct{}{}).Cut[shareKey{key.child().root(), key.Child}]; cut {
		out.Refused = append(slices.Clone(out.Refused), route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: "TooManyCopies: " + why.String(), Told: true})
		return out
	}
	flat := r.in.flat.Get(c, key.child())
	if why := flat.refusal(); why.Reason != "" {
		out.Refused = append(slices.Clone(out.Refused), why)
	}
	if flat.stands() {
		out.Sections = link.Sections(setOf(flat.Live))
		out.Missed, out.Unsupported = flat.Missed, flat.Unsupported
	}
	out.Resolved = flat.unresolved()
	if len(flat.Points) > 0 {
		out.Resolved = out.Resolved.And(r.graft.Get(c, key.child()).resolved())
	}
	return out
}
