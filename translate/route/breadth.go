package route

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Breadth counts routes that may become children, the candidates, and their matches. gatefold estimates from it
// how large a delegation tree becomes, because the counts multiply from level to level (docs/design/routes.md).
type Breadth struct {
	// Routes is the number of routes that may become children.
	Routes int
	// Within is the number of matches that must be within the path of a Point (EP-10943, Path matching). Each
	// becomes a rule only under the few Points whose path contains it.
	Within int
	// Joined is the number of matches that are combined with the match of a Point, by inheritance (EP-10943) or
	// inclusion (GEP-1058). Each becomes a rule under all Points.
	Joined int
}

// BreadthOf returns the Breadth of one candidate that a selector of the given form finds. It is zero if the
// candidate is not an HTTPRoute.
func BreadthOf(candidate *manifest.Object, form SelectorForm) Breadth {
	route, ok := manifest.As[*api.HTTPRoute](candidate)
	if !ok {
		return Breadth{}
	}
	matches := 0
	for i := range route.Spec.Rules {
		matches += max(1, len(route.Spec.Rules[i].Matches))
	}
	if form == ByParent || inherits(route) {
		return Breadth{Routes: 1, Joined: matches}
	}
	return Breadth{Routes: 1, Within: matches}
}

// Plus returns the sum of two Breadths.
func (b Breadth) Plus(other Breadth) Breadth {
	return Breadth{b.Routes + other.Routes, b.Within + other.Within, b.Joined + other.Joined}
}

// Minus returns b minus other.
func (b Breadth) Minus(other Breadth) Breadth {
	return Breadth{b.Routes - other.Routes, b.Within - other.Within, b.Joined - other.Joined}
}

const (
	// combinedPerRoute is how many combinations of a Point and a match cost as much as one route in Envoy.
	combinedPerRoute = 100
	// maxFanout limits the results of Fanout and Spread, so that sums fit into an int.
	maxFanout = math.MaxInt32
)

// Fanout estimates, without building them, how many routes the children of a parent route add. points are the
// parent's Points. offered returns the Breadth of all candidates with a Property. For each Property, Fanout
// adds the largest of three numbers: the routes at most, the candidates, and the cost of trying all
// combinations of Points and matches. The sum is limited to maxFanout.
func Fanout(route manifest.Key, points []*Point, offered func(Property) Breadth) int {
	total := 0
	for property, under := range byProperty(route, points) {
		total = min(maxFanout, total+fanout(under, offered(property)))
	}
	return total
}

// Spread returns the result of Fanout for each namespace, counting only candidates in that namespace. offered
// returns the Breadths of a Property by namespace.
func Spread(route manifest.Key, points []*Point, offered func(Property) map[string]Breadth) map[string]int {
	out := map[string]int{}
	for property, under := range byProperty(route, points) {
		for namespace, b := range offered(property) {
			out[namespace] = min(maxFanout, out[namespace]+fanout(under, b))
		}
	}
	return out
}

// fanout is the part of Fanout for one Property. under are the Points that select it, and b counts its
// candidates.
func fanout(under []*Point, b Breadth) int {
	combined := saturating(b.Within+b.Joined, len(under))
	placed := saturating(b.Within, nested(under)) + saturating(b.Joined, len(under))
	return max(b.Routes, placed, combined/combinedPerRoute)
}

// saturating returns a*b, at most maxFanout.
func saturating(a, b int) int {
	if b > 0 && a > maxFanout/b {
		return maxFanout
	}
	return a * b
}

// byProperty groups the Points by what they select: a Point is in the list of each Property of the children
// that it selects.
func byProperty(route manifest.Key, points []*Point) map[Property][]*Point {
	out := map[Property][]*Point{}
	for _, p := range points {
		for _, property := range Wants(route, []*Point{p}) {
			out[property] = append(out[property], p)
		}
	}
	return out
}

// nested returns the largest number of Points whose path prefixes can contain the same path.
func nested(points []*Point) int {
	var prefixes []string
	for _, p := range points {
		if p.Matcher.Path.Kind == ir.PathPrefix {
			prefixes = append(prefixes, trimSlash(p.Matcher.Path.Value))
		}
	}
	slices.SortFunc(prefixes, cmp.Compare)
	deepest := 0
	var open []string // each element is a prefix of the next one
	for _, prefix := range prefixes {
		for len(open) > 0 && !strings.HasPrefix(prefix, open[len(open)-1]) {
			open = open[:len(open)-1]
		}
		open = append(open, prefix)
		deepest = max(deepest, len(open))
	}
	return deepest
}
