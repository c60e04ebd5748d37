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

// Breadth counts routes that a delegating rule may get as children, and the matches of these routes. From the
// Breadths of all levels of delegation, gatefold estimates how many Envoy routes result: the numbers of the levels
// multiply (docs/design/routes.md). In the fields below, a Point is a match of the delegating rule.
type Breadth struct {
	// Routes is the number of routes that may become children.
	Routes int
	// Within is the number of matches that must be within the path of a Point (EP-10943, Path matching). Such a match
	// becomes a rule only under the Points whose path contains it.
	Within int
	// Joined is the number of matches that are combined with a Point, by inheritance (EP-10943) or inclusion
	// (GEP-1058). Such a match may become a rule under each Point.
	Joined int
}

// BreadthOf counts one candidate (a route that may become the child of a delegating rule) and its matches, as a
// Breadth. The parameter form says how the delegating rule selects the candidate; it must not be ByParentIn.
// BreadthOf returns the zero Breadth if the candidate is not an HTTPRoute.
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
	// combinedPerRoute is the number of combinations of a Point and a match that, when gatefold tries them, cost as
	// much as one route in Envoy.
	combinedPerRoute = 100
	// maxFanout limits the results of Fanout and Spread, so that sums fit into an int.
	maxFanout = math.MaxInt32
)

// Fanout estimates how many Envoy routes the children of a parent route add, without building them. The parameter
// points has the matches of the parent's delegating rules (see Point). The function offered returns the Breadth of
// all routes that have a Property.
//
// The estimate is the sum of one number for each Property by which the parent selects children. This number is the
// maximum of three:
//   - an upper bound for the Envoy routes that result
//   - the number of candidates
//   - the number of combinations of a Point and a match, divided by combinedPerRoute
//
// The last two stand for work that is necessary even if few Envoy routes result. The estimate is at most maxFanout.
func Fanout(route manifest.Key, points []*Point, offered func(Property) Breadth) int {
	total := 0
	for property, under := range byProperty(route, points) {
		total = min(maxFanout, total+fanout(under, offered(property)))
	}
	return total
}

// Spread returns, for each namespace, an estimate of how many Envoy routes the children in that namespace add. The
// key is the name of the namespace. Fanout returns the estimate for the children of all namespaces together, and
// describes the computation. The function offered returns, for a Property, the Breadth of the routes with that
// Property in each namespace.
func Spread(route manifest.Key, points []*Point, offered func(Property) map[string]Breadth) map[string]int {
	out := map[string]int{}
	for property, under := range byProperty(route, points) {
		for namespace, b := range offered(property) {
			out[namespace] = min(maxFanout, out[namespace]+fanout(under, b))
		}
	}
	return out
}

// fanout estimates how many Envoy routes are added by the children that a parent selects by one Property, for example
// by a label. The function Fanout describes the estimate, and adds up the results for all Properties. The parameter
// points has the parent's Points that select by the Property. The parameter b counts the routes that have the
// Property, and the matches of these routes.
func fanout(points []*Point, b Breadth) int {
	combined := saturating(b.Within+b.Joined, len(points))
	placed := saturating(b.Within, nested(points)) + saturating(b.Joined, len(points))
	return max(b.Routes, placed, combined/combinedPerRoute)
}

// saturating returns a*b, at most maxFanout.
func saturating(a, b int) int {
	if b > 0 && a > maxFanout/b {
		return maxFanout
	}
	return a * b
}

// byProperty groups Points (matches of delegating rules) by the Property by which they select children. A Point
// that selects by several Properties is in the list of each of them.
func byProperty(route manifest.Key, points []*Point) map[Property][]*Point {
	out := map[Property][]*Point{}
	for _, p := range points {
		for _, property := range Wants(route, []*Point{p}) {
			out[property] = append(out[property], p)
		}
	}
	return out
}

// nested returns the largest number of Points (matches of delegating rules) whose path prefixes can contain one
// and the same path. Prefixes are compared as plain text, not by segments.
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
