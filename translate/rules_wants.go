package translate

import (
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// overOut says to which namespaces a node must not delegate, because their children would exceed a budget (see
// budgetOut).
type overOut struct {
	heavy map[string]int // fanoutOut.Heavy of the node
	// stopped has the exceeded budgets, by namespace. Each namespace in heavy has a budget of its own in this
	// node. The entry "" is the budget that all other namespaces share.
	stopped map[string]*budgetOut
}

// of returns the exceeded budget that forbids the node to delegate to routes of a namespace (space). If the
// node may delegate there, or if o is nil, it returns nil.
func (o *overOut) of(space string) *budgetOut {
	if o == nil {
		return nil
	}
	if _, heavy := o.heavy[space]; !heavy {
		space = ""
	}
	return o.stopped[space]
}

// closed returns a map from each namespace to whether the node must not delegate to routes there. The entry ""
// is for all namespaces without an entry of their own. If o is nil, the node may delegate to all namespaces,
// and the result is nil.
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

// wantRules find the properties by which nodes select child routes (route.Property). They leave out what
// exceeds a budget.
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

// overBudget returns the exceeded budgets that forbid a node (see flatKey) to delegate to some namespaces. If
// no budget is exceeded, the result is nil.
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

// overPoint returns an exceeded budget because of which a delegating rule (the parameter point) may not select some
// routes. It tries the namespaces from which the rule selects routes, and returns the first exceeded budget. If there
// is none, it returns nil. The parameter key is the node that has the rule, and the parameter over is the result of
// overBudget for this node.
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

// runWants returns the properties by which a node (see flatKey) selects child routes, for example a label
// (route.Property). If no budget of the node is exceeded, these are all properties that its rules name.
// Otherwise each property is split by namespace, and namespaces over their budget are left out.
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
