package translate

import (
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// overOut are the budgets that stop a node from delegating.
type overOut struct {
	heavy map[string]int // of the node's fanoutOut
	// stopped has the budgets by the Space of their branch; that of the node, which holds for the
	// namespaces that are not in heavy, under "".
	stopped map[string]*budgetOut
}

// of returns the branch whose budget stops a node from delegating to a namespace; nil if no budget
// does.
func (o *overOut) of(space string) *budgetOut {
	if o == nil {
		return nil
	}
	if _, heavy := o.heavy[space]; !heavy {
		space = ""
	}
	return o.stopped[space]
}

// closed returns what links read of the budgets: for each namespace, whether its routes are
// stopped. The entry "" is for all other namespaces. It returns nil if none are stopped.
func (o *overOut) closed() map[string]bool {
	if o == nil {
		return nil
	}
	out := map[string]bool{"": o.stopped[""] != nil}
	for space := range o.heavy {
		out[space] = o.stopped[space] != nil
	}
	return out
}

type wantIn struct {
	*offerRules
	flat   *memo.Rule[flatKey, *flatOut]
	fanout *memo.Rule[flatKey, *fanoutOut]
	budget *memo.Rule[branchKey, budgetOut]
}

// wantRules find what nodes look for within their budgets.
type wantRules struct {
	in    wantIn
	wants *memo.Rule[flatKey, []route.Property]
}

func newWantRules(e *memo.Engine, in wantIn) *wantRules {
	r := &wantRules{in: in}
	r.wants = memo.NewRule(e, "wants", r.runWants, deepEqual)
	memo.EachOf(r.wants, in.flat, ifDelegating)
	return r
}

// overBudget returns the budgets that stop a node from delegating, nil if no budget does.
func (r *wantRules) overBudget(c *memo.Ctx, key flatKey) *overOut {
	out := &overOut{stopped: map[string]*budgetOut{}}
	look := func(at string, branch branchKey) {
		if budget := r.in.budget.Get(c, branch); key.depth() >= budget.Depth {
			out.stopped[at] = &budget
		}
	}
	look("", key.branch())
	if key.Via == "" {
		out.heavy = r.in.fanout.Get(c, key).Heavy
		for space := range out.heavy {
			look(space, key.heavy(space))
		}
	}
	if len(out.stopped) == 0 {
		return nil
	}
	return out
}

// overPoint returns the first branch whose budget stops a Point from delegating, nil if there is
// none.
func (r *wantRules) overPoint(c *memo.Ctx, key flatKey, point *route.Point, over *overOut) *budgetOut {
	if over == nil {
		return nil
	}
	for _, property := range route.Wants(key.Route, []*route.Point{point}) {
		for _, space := range r.in.spacesOf(c, property) {
			if branch := over.of(space); branch != nil {
				return branch
			}
		}
	}
	return nil
}

// runWants returns the properties that a node looks for within its budget.
func (r *wantRules) runWants(c *memo.Ctx, key flatKey) []route.Property {
	wants, over := route.Wants(key.Route, r.in.flat.Get(c, key).Points), r.overBudget(c, key)
	if over == nil {
		return wants
	}
	var out []route.Property
	for _, property := range wants {
		for _, space := range r.in.spacesOf(c, property) {
			if over.of(space) == nil {
				out = append(out, property.In(space))
			}
		}
	}
	return out
}
