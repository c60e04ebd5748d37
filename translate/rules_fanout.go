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
	// heavyRules is the number of rules that the children of a namespace directly below a root may have without
	// a branch (branchKey) of their own.
	heavyRules = 64
	// maxHeavy is the number of namespaces of a root that can be separate branches (branchKey): the namespaces
	// with the most rules. The limit is necessary because roots times namespaces can be many branches.
	maxHeavy = 64
)

// fanoutOut is an upper bound for the number of rules that all children of a node (see flatKey) together can have
// (see route.Fanout). It is computed before the rules of the children are built.
type fanoutOut struct {
	// Rules is the number of rules, without the rules that Heavy counts.
	Rules int
	// Heavy is set only for a root route. It maps a namespace to the number of rules that the child routes of the
	// namespace can have. It has only namespaces with more than heavyRules rules, and at most maxHeavy namespaces.
	Heavy map[string]int
}

type fanoutIn struct {
	*offerRules
	flat   *memo.Rule[flatKey, *flatOut]
	routes *servedRoutes
}

// fanoutRules has the memo rule fanout. For each node (flatKey), fanout computes how many rules the children of the
// node can have (see fanoutOut).
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

// runFanout returns an upper bound for the number of rules that the children of a node (see flatKey) can have. A
// child that the node names, but that does not exist, counts as one rule. The field Heavy is set only if all of this
// is true:
//
//   - The node is a root.
//   - The children can have more than heavyRules rules.
//   - The flag --cluster-paths is not set, or it names the file of the root.
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

// splitHeavy returns a fanoutOut. The parameter bySpace has the number of rules of each namespace. If a namespace has
// more than heavyRules rules, its number goes into Heavy. Heavy has at most maxHeavy namespaces, those with the most
// rules. Rules is the sum of the numbers of all other namespaces.
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
