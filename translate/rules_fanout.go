package translate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// offerKey is a property of routes of several namespaces, and one of these.
type offerKey struct {
	Property route.Property
	Space    string
}

// offer is what the routes of one namespace bring that have a property.
type offer struct {
	Space   string
	Breadth route.Breadth
}

// fanoutOut is what the children of a node can come to.
type fanoutOut struct {
	Rules int // those of Heavy not included
	// Heavy has the namespaces of which a root's children come to more than heavyRules.
	Heavy map[string]int
}

// runFanout returns how many routes the children of a node can come to, at most. A
// name counts as one where there is no such route.
func (n *network) runFanout(c *memo.Ctx, key flatKey) *fanoutOut {
	points := n.flat.Get(c, key).Points
	out := &fanoutOut{Rules: route.Fanout(key.Route, points, func(property route.Property) route.Breadth { return n.breadth(c, property) })}
	if key.Via != "" || out.Rules <= heavyRules {
		return out
	}
	if root, _ := n.in.routes.Get(c, key.Route); root == nil || root.Source == manifest.OtherFile {
		return out
	}
	return splitHeavy(route.Spread(key.Route, points, func(property route.Property) map[string]route.Breadth {
		if !property.Spans() {
			return map[string]route.Breadth{property.Namespace: n.breadth(c, property)}
		}
		spaces, _ := n.spaces.Get(c, property)
		by := map[string]route.Breadth{}
		for offer := range spaces.All() {
			by[offer.Space] = offer.Breadth
		}
		return by
	}))
}

// breadth returns what the routes bring that have a property.
func (n *network) breadth(c *memo.Ctx, property route.Property) route.Breadth {
	named, isName := property.Named()
	if !isName {
		offered, _ := n.offered.Get(c, property)
		return offered
	}
	candidate, exists := n.in.routes.Get(c, named)
	if !exists {
		return route.Breadth{Routes: 1}
	}
	return route.BreadthOf(candidate, property.Form)
}

// splitHeavy sets the namespaces apart that ask for much.
func splitHeavy(bySpace map[string]int) *fanoutOut {
	out := &fanoutOut{Heavy: map[string]int{}}
	spaces := slices.SortedFunc(maps.Keys(bySpace), func(a, b string) int { return cmp.Or(cmp.Compare(bySpace[b], bySpace[a]), cmp.Compare(a, b)) })
	for i, space := range spaces {
		if rules := bySpace[space]; i < maxHeavy && rules > heavyRules {
			out.Heavy[space] = rules
		} else {
			out.Rules += rules
		}
	}
	return out
}

// heavy returns the branch of a namespace below a root's node.
func (k flatKey) heavy(space string) branchKey {
	return branchKey{Root: k.Route, Port: k.Port, Space: space}
}

// spacesOf returns the namespaces of the routes that can have a property.
func (n *network) spacesOf(c *memo.Ctx, property route.Property) (spaces []string) {
	if !property.Spans() {
		return []string{property.Namespace}
	}
	offers, _ := n.spaces.Get(c, property)
	for offer := range offers.All() {
		spaces = append(spaces, offer.Space)
	}
	return spaces
}

// overOut are the budgets that keep a node from handing requests on.
type overOut struct {
	heavy map[string]int // of the node's fanoutOut
	// stopped has the branches by their Space; that of the node, which holds for the
	// namespaces that are not in heavy, under "".
	stopped map[string]*stoppedBranch
}

type stoppedBranch struct {
	branchKey
	budgetOut
}

// of returns the branch that keeps a node from handing requests to routes of a namespace;
// nil if it may.
func (o *overOut) of(space string) *stoppedBranch {
	if o == nil {
		return nil
	}
	if _, heavy := o.heavy[space]; !heavy {
		space = ""
	}
	return o.stopped[space]
}

// overBudget returns the budgets that keep a node from handing requests on, nil when
// it may to all.
func (n *network) overBudget(c *memo.Ctx, key flatKey) *overOut {
	out := &overOut{stopped: map[string]*stoppedBranch{}}
	look := func(at string, branch branchKey) {
		if budget := n.budget.Get(c, branch); key.depth() >= budget.Depth {
			out.stopped[at] = &stoppedBranch{branch, budget}
		}
	}
	look("", key.branch())
	if key.Via == "" {
		out.heavy = n.fanout.Get(c, key).Heavy
		for space := range out.heavy {
			look(space, key.heavy(space))
		}
	}
	if len(out.stopped) == 0 {
		return nil
	}
	return out
}

// overPoint returns the first branch that keeps a Point of a node from handing requests on;
// nil for none.
func (n *network) overPoint(c *memo.Ctx, key flatKey, point *route.Point, over *overOut) *stoppedBranch {
	if over == nil {
		return nil
	}
	for _, property := range route.Wants(key.Route, []*route.Point{point}) {
		for _, space := range n.spacesOf(c, property) {
			if branch := over.of(space); branch != nil {
				return branch
			}
		}
	}
	return nil
}

// closed returns what links read of the budgets: whether routes of a namespace are stopped,
// and under "" those of the namespaces that it does not have; nil if none are.
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
