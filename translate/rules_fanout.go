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

type offerIn struct {
	routes *objects
}

// offerRules count the routes that have a property by which others look for them.
type offerRules struct {
	in      offerIn
	offered *memo.Fold[route.Property, manifest.Key, route.Breadth, route.Breadth]
	offers  *memo.Fold[offerKey, manifest.Key, route.Breadth, route.Breadth]
	spaces  *memo.Fold[route.Property, string, offer, memo.Ordered[offer]]
	count   *memo.Fold[struct{}, manifest.Key, struct{}, int]
}

func newOfferRules(e *memo.Engine, in offerIn) *offerRules {
	r := &offerRules{in: in}
	r.offered = memo.NewFold[route.Property, manifest.Key](e, "offered", sumBreadths, identical[route.Breadth])
	memo.From(r.offered, in.routes, func(key manifest.Key, o *manifest.Object, yield func(memo.Place[route.Property, manifest.Key], route.Breadth)) {
		for _, property := range route.Offers(o) {
			if property.Form == route.ByName || property.Form == route.ByParentIn {
				continue
			}
			yield(memo.Place[route.Property, manifest.Key]{Key: property, ID: key}, route.BreadthOf(o, property.Form))
		}
	}, identical)
	r.offers = memo.NewFold[offerKey, manifest.Key](e, "offers", sumBreadths, identical[route.Breadth])
	memo.From(r.offers, in.routes, func(key manifest.Key, o *manifest.Object, yield func(memo.Place[offerKey, manifest.Key], route.Breadth)) {
		for _, property := range route.Offers(o) {
			if property.Spans() {
				yield(memo.Place[offerKey, manifest.Key]{Key: offerKey{property, key.Namespace}, ID: key}, route.BreadthOf(o, property.Form))
			}
		}
	}, identical)
	r.spaces = memo.NewFold[route.Property, string](e, "spaces", gather[string](func(a, b offer) int { return cmp.Compare(a.Space, b.Space) }), memo.Ordered[offer].Same)
	memo.From(r.spaces, r.offers, func(key offerKey, b route.Breadth, yield func(memo.Place[route.Property, string], offer)) {
		yield(memo.Place[route.Property, string]{Key: key.Property, ID: key.Space}, offer{key.Space, b})
	}, identical)
	r.count = memo.NewFold[struct{}, manifest.Key](e, "routecount", count[manifest.Key], identical[int])
	memo.From(r.count, in.routes, func(key manifest.Key, _ *manifest.Object, yield func(memo.Place[struct{}, manifest.Key], struct{})) {
		yield(memo.Place[struct{}, manifest.Key]{ID: key}, struct{}{})
	}, identical)
	return r
}

// sumBreadths is the step of the fold offered.
func sumBreadths(sum route.Breadth, members []memo.Member[manifest.Key, route.Breadth]) route.Breadth {
	for _, m := range members {
		sum = sum.Plus(m.New).Minus(m.Old)
	}
	return sum
}

// fanoutOut is what the children of a node can come to.
type fanoutOut struct {
	Rules int // those of Heavy not included
	// Heavy has the namespaces of which a root's children come to more than heavyRules.
	Heavy map[string]int
}

// runFanout returns how many routes the children of a node can come to, at most. A
// name counts as one where there is no such route.
func (r *budgetRules) runFanout(c *memo.Ctx, key flatKey) *fanoutOut {
	points := r.in.flat.Get(c, key).Points
	out := &fanoutOut{Rules: route.Fanout(key.Route, points, func(property route.Property) route.Breadth { return r.in.breadth(c, property) })}
	if key.Via != "" || out.Rules <= heavyRules {
		return out
	}
	if root, _ := r.in.routes.Get(c, key.Route); root == nil || root.Source == manifest.OtherFile {
		return out
	}
	return splitHeavy(route.Spread(key.Route, points, func(property route.Property) map[string]route.Breadth {
		if !property.Spans() {
			return map[string]route.Breadth{property.Namespace: r.in.breadth(c, property)}
		}
		spaces, _ := r.in.spaces.Get(c, property)
		by := map[string]route.Breadth{}
		for offer := range spaces.All() {
			by[offer.Space] = offer.Breadth
		}
		return by
	}))
}

// breadth returns what the routes bring that have a property.
func (r *offerRules) breadth(c *memo.Ctx, property route.Property) route.Breadth {
	named, isName := property.Named()
	if !isName {
		offered, _ := r.offered.Get(c, property)
		return offered
	}
	candidate, exists := r.in.routes.Get(c, named)
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
func (r *offerRules) spacesOf(c *memo.Ctx, property route.Property) (spaces []string) {
	if !property.Spans() {
		return []string{property.Namespace}
	}
	offers, _ := r.spaces.Get(c, property)
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
func (r *budgetRules) overBudget(c *memo.Ctx, key flatKey) *overOut {
	out := &overOut{stopped: map[string]*stoppedBranch{}}
	look := func(at string, branch branchKey) {
		if budget := r.budget.Get(c, branch); key.depth() >= budget.Depth {
			out.stopped[at] = &stoppedBranch{branch, budget}
		}
	}
	look("", key.branch())
	if key.Via == "" {
		out.heavy = r.fanout.Get(c, key).Heavy
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
func (r *budgetRules) overPoint(c *memo.Ctx, key flatKey, point *route.Point, over *overOut) *stoppedBranch {
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
