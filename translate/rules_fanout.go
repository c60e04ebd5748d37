package translate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

const (
	// heavyRules is what a namespace may ask for right below a root before that is a branch of
	// its own.
	heavyRules = 64
	// maxHeavy is how many such namespaces a root has, those that ask for the most: roots and
	// namespaces multiply, too.
	maxHeavy = 64
)

// fanoutOut is the number of rules that the children of a node can have.
type fanoutOut struct {
	Rules int // those of Heavy not included
	// Heavy has the namespaces of which a root's children come to more than heavyRules.
	Heavy map[string]int
}

type fanoutIn struct {
	*offerRules
	flat   *memo.Rule[flatKey, *flatOut]
	routes *objects
}

// fanoutRules count the rules that the children of nodes can have.
type fanoutRules struct {
	in     fanoutIn
	fanout *memo.Rule[flatKey, *fanoutOut]
}

func newFanoutRules(e *memo.Engine, in fanoutIn) *fanoutRules {
	r := &fanoutRules{in: in}
	r.fanout = memo.NewRule(e, "fanout", r.runFanout, deepEqual)
	memo.EachOf(r.fanout, in.flat, ifDelegating)
	return r
}

// runFanout returns the most rules that the children of a node can have. A name of a route that
// does not exist counts as one.
func (r *fanoutRules) runFanout(c *memo.Ctx, key flatKey) *fanoutOut {
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

// splitHeavy separates the namespaces that ask for many rules.
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
