package translate

import (
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// overOut says to which namespaces a node of a delegation tree (see flatKey) must not delegate. The child routes from
// these namespaces would have more rules than a budget allows (see budgetOut).
type overOut struct {
	// heavy has the namespaces whose child routes can have many rules (see fanoutOut.Heavy).
	heavy map[string]int
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

// wantRules find the properties (route.Property) by which the nodes of a delegation tree (see flatKey) select child
// routes. If the child routes of a namespace would have more rules than a budget allows (see budgetOut), the
// properties do not select routes of this namespace.
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

// overBudget returns the exceeded budgets (see budgetOut) that limit a node of a delegation tree (see flatKey).
// Because of each of these budgets, there are namespaces to which the node must not delegate (see overOut). If no
// budget limits the node, the result is nil.
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

// overPoint returns an exceeded budget (see budgetOut) that limits a delegating rule, or nil if there is none. Such a
// budget forbids the rule to select routes of a namespace. If there are several, overPoint returns the first that it
// finds. The parameter point is the rule. The parameter key is the route that has the rule, as a node of a delegation
// tree (see flatKey). The parameter over is the result of overBudget for this node.
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

// runWants returns the properties (route.Property, for example a label) by which a node of a delegation tree (see
// flatKey) selects child routes. Usually, these are the properties that the rules of the node name. But if an
// exceeded budget limits the node (see overBudget), runWants splits each property by namespace (see Property.In). The
// result then has one property for each namespace that has routes with the property, except for the namespaces to
// which the node must not delegate (see overOut).
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
