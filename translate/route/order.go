package route

import (
	"cmp"
	"math"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Compare is the order of the rules of a virtual host: the first rule that matches a request serves it. The
// result is negative if a comes first. Two rules compare as 0 only if they are the same rule.
//
// The criteria are, in this order:
//
//   - the weight (EP-11466); under path policies, the weight of a rule outside of cluster paths counts 0 here
//   - the hostname of the root that is for this virtual host, the more specific one first (HTTPRouteSpec.hostnames)
//   - the Gateway API's precedence (HTTPRouteRule.matches): kind and length of the path, method, number of
//     headers, number of query parameters
//   - a rule for some hosts only (ir.Match.Hosts) comes before a rule for all hosts
//   - a guard (ir.Rule.Guard) comes after a rule that is not a guard
//   - a rule that was added for preflight requests (ir.Rule.Preflight) comes after a rule that is in a route
//   - a rule of a closed copy (ir.Rule.Closed) comes after a rule of another route
//   - age and name of the root, then age and name of the route of the rule
//   - the chain of delegating rules, and the position in the route (docs/design/routes.md)
//
// If weights order only siblings (Setting.Siblings), the rules below one match of a delegating rule form a block,
// and a block can contain smaller blocks. A block stays together: among other rules, it has the place of a rule with
// the delegating match. Inside the block, the same criteria apply, except that the guard of the delegating match is
// always last, whatever its weight. So a weight never has an effect outside its block.
//
// These criteria give the standard place of a rule. Under path policies, the weights of a team move its own rules back: a
// rule with a heavier rule of its namespace (ir.Rule.After) stands at the place of that rule, and there the heavier one
// comes first.
func Compare(a, b *ir.Rule) int {
	// While routes change, a match that begins to delegate may be compared with its earlier rule, which has no
	// block.
	return cmp.Or(compareSteps(parting(a, b)), cmp.Compare(len(a.Blocks), len(b.Blocks)))
}

// parting finds the level of blocks that decides the order of the rules a and b (see ir.Rule.Blocks). It compares
// the outermost block of a with the outermost block of b, then the next inner blocks, and so on. It returns the first
// two blocks x (of a) and y (of b) that compareSteps does not find equal. If one rule has no more blocks, parting
// stops at this level: for this rule it returns the rule itself, in place of a block.
func parting(a, b *ir.Rule) (x, y *ir.Rule) {
	for i := 0; ; i++ {
		x, y = step(a, i), step(b, i)
		if x == a || y == b || x != y && compareSteps(x, y) != 0 {
			return x, y
		}
	}
}

// compareSteps compares two rules, or blocks of rules, by the criteria of Compare: the first criterion in which they
// differ decides. The result is negative if x comes first, and 0 if x and y differ in none.
func compareSteps(x, y *ir.Rule) int {
	if x.After == nil && y.After == nil {
		// While a weight changes, a rule is compared with its earlier self.
		return cmp.Or(CompareStandard(x, y), cmp.Compare(y.Weight, x.Weight))
	}
	return cmp.Or(CompareStandard(placeOf(x), placeOf(y)), cmp.Compare(y.Weight, x.Weight), CompareStandard(x, y))
}

// placeOf returns the rule at whose standard place a rule stands.
func placeOf(rule *ir.Rule) *ir.Rule { return cmp.Or(rule.After, rule) }

// CompareStandard compares the standard places of two rules, or blocks of rules, of one block (see Compare).
func CompareStandard(x, y *ir.Rule) int {
	order := criteria(x, y)
	return cmp.Or(order[:]...)
}

// step returns rule.Blocks[i]: the block with index i around the rule, where index 0 is the outermost block. A block
// stands for a delegating match with all rules below the match (see ir.Rule.Blocks). If the rule has no block with
// index i, step returns the rule itself.
func step(rule *ir.Rule, i int) *ir.Rule {
	if i < len(rule.Blocks) {
		return rule.Blocks[i]
	}
	return rule
}

// criteria compares two rules by each criterion of Compare. The first result that is not 0 decides. The
// function reasons has a text for each criterion.
func criteria(a, b *ir.Rule) [14]int {
	x, y := placeMatch(a), placeMatch(b)
	return [...]int{
		ir.TrueFirst(!EndsBlock(a), !EndsBlock(b)),
		cmp.Compare(rank(b), rank(a)),
		compareWidths(a, b),
		comparePaths(x.Path, y.Path),
		ir.TrueFirst(x.Method != "", y.Method != ""),
		cmp.Compare(len(y.Headers), len(x.Headers)),
		cmp.Compare(len(y.Query), len(x.Query)),
		ir.TrueFirst(len(x.Hosts) > 0, len(y.Hosts) > 0),
		ir.TrueFirst(!a.Guard, !b.Guard),
		ir.TrueFirst(a.Preflight == nil, b.Preflight == nil),
		ir.TrueFirst(a.Closed == nil, b.Closed == nil),
		CompareOrigins(a.Root, b.Root),
		CompareOrigins(a.Source, b.Source),
		comparePlaces(a, b),
	}
}

// placeMatch returns the match by which a rule has its place in the order.
func placeMatch(rule *ir.Rule) *ir.Match {
	if rule.Preflight != nil {
		return rule.Preflight
	}
	if rule.Closed != nil {
		return rule.Closed
	}
	return &rule.Match
}

// compareWidths compares the hostnames of two rules' roots (ir.Rule.Wider): the more specific one comes first.
func compareWidths(a, b *ir.Rule) int {
	return cmp.Or(ir.TrueFirst(a.Wider == "", b.Wider == ""), cmp.Compare(Specific(b.Wider), Specific(a.Wider)))
}

// rank returns the weight that a rule has against the rules of all namespaces.
func rank(rule *ir.Rule) int32 {
	if rule.Source.Outside && rule.Weight != WeightOfClosed {
		return 0
	}
	return rule.Weight
}

// WeightOfClosed is the weight of a rule that answers what no other rule of a host does. It is the lowest weight.
const WeightOfClosed = math.MinInt32

// EndsBlock reports whether a rule is the guard of a block, and so the last rule of the block. The guard gets the
// requests that match the delegating match, but no child route (see ir.Rule.Guard).
func EndsBlock(rule *ir.Rule) bool { return rule.Guard && len(rule.Blocks) > 0 }

// comparePlaces compares the chains of delegating rules that lead from one root to the rules a and b, level by
// level from the root. At each level it compares the index of the backendRef that selects the route, then the age
// and name of the route, then the indexes of rule and match (docs/design/routes.md). If one chain is the beginning
// of the other, the shorter chain comes first.
func comparePlaces(a, b *ir.Rule) int {
	for i := range min(len(a.Chain), len(b.Chain)) + 1 {
		if order := compareHops(hopOf(a, i), hopOf(b, i)); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a.Chain), len(b.Chain))
}

// hopOf returns the level with index i of the chain that leads from the root to a rule. If i is the index after the
// last delegating rule of the chain, hopOf returns the parameter rule itself, as an ir.Hop.
func hopOf(rule *ir.Rule, i int) ir.Hop {
	if i < len(rule.Chain) {
		return rule.Chain[i]
	}
	at := rule.Position[len(rule.Position)-2:]
	return ir.Hop{Route: rule.Source.Key, Created: rule.Source.Created, Outside: rule.Source.Outside, Ref: rule.Ref, Rule: at[0], Match: at[1]}
}

// compareHops compares one level of two chains, as comparePlaces describes.
func compareHops(a, b ir.Hop) int {
	return cmp.Or(
		cmp.Compare(a.Ref, b.Ref),
		CompareOrigins(&ir.Origin{Key: a.Route, Created: a.Created, Outside: a.Outside}, &ir.Origin{Key: b.Route, Created: b.Created, Outside: b.Outside}),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Match, b.Match),
	)
}

// comparePaths compares two paths by these criteria, in this order:
//   - Paths of GRPCRoutes come before all other paths. Of two such paths, the longer service comes first, then the
//     longer method (Gateway API, GRPCRouteRule.matches).
//   - Exact paths come first, then regular expressions, then prefixes.
//   - Of two exact paths or prefixes, the longer one comes first. All regular expressions are equal.
func comparePaths(a, b ir.Path) int {
	if order := compareRPCs(a.RPC, b.RPC); order != 0 {
		return order
	}
	if a.Kind != b.Kind || a.Kind == ir.PathRegex {
		return cmp.Compare(a.Kind, b.Kind)
	}
	return cmp.Compare(len(b.Value), len(a.Value))
}

// compareRPCs compares the gRPC methods of two paths: paths of GRPCRoutes come before all other paths, then the
// longer service comes first, then the longer method. It returns 0 if neither path is of a GRPCRoute.
func compareRPCs(a, b ir.RPC) int {
	return cmp.Or(ir.TrueFirst(a.Is, b.Is), cmp.Compare(len(b.Service), len(a.Service)), cmp.Compare(len(b.Method), len(a.Method)))
}

// CompareOrigins compares two origins by the conflict resolution order. If path policies are in force, objects from
// files of the platform team (the flag --cluster-paths) come before all others. Then objects with a
// creationTimestamp come first, the older before the newer. Objects that are still equal are ordered by namespace
// and name, and then by kind.
func CompareOrigins(a, b *ir.Origin) int {
	return cmp.Or(
		ir.TrueFirst(!a.Outside, !b.Outside),
		ir.TrueFirst(!a.Created.IsZero(), !b.Created.IsZero()),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Key.Namespace+"/"+a.Key.Name, b.Key.Namespace+"/"+b.Key.Name),
		manifest.CompareKeys(a.Key, b.Key),
	)
}

// Rank decides which object gets a thing that only one object can have, such as a host of a listener. The fields are
// in the order in which CompareRanks looks at them.
type Rank struct {
	// Own says how specific the object's own hostname for the host is (see Specific). It is 0 if the thing has no
	// hostname.
	Own uint16
	// Granted is true if the annotation gatefold.io/hostnames of the object's Namespace has the host.
	Granted bool
	// Incumbent is true if the object has the thing in what was published last, or in the saved state.
	Incumbent bool
	Origin    *ir.Origin
}

// CompareRanks orders the objects that want one thing: the first gets it. The criteria are, in this order:
//   - the more specific own hostname (Rank.Own)
//   - if path policies are in force, an object of the platform team (the flag --cluster-paths)
//   - an object whose Namespace has the host in its annotation (Rank.Granted)
//   - the object that has the thing now (Rank.Incumbent)
//   - the conflict resolution order (CompareOrigins)
//
// If the first object becomes the incumbent, it is still the first.
func CompareRanks(a, b Rank) int {
	return cmp.Or(
		cmp.Compare(b.Own, a.Own),
		ir.TrueFirst(!a.Origin.Outside, !b.Origin.Outside),
		ir.TrueFirst(a.Granted, b.Granted),
		ir.TrueFirst(a.Incumbent, b.Incumbent),
		CompareOrigins(a.Origin, b.Origin),
	)
}

// WhyFirst returns, as text, why the object with the rank first comes before the object with the rank later (see
// CompareRanks). If the later one comes first by CompareOrigins, the reason is that the first one is the incumbent. So
// the text stays the same when the first one becomes the incumbent.
func WhyFirst(first, later Rank) string {
	switch {
	case !first.Origin.Outside && later.Origin.Outside:
		return "it is of the platform team (--cluster-paths)"
	case first.Own != later.Own:
		return "its own hostname is more specific"
	case first.Granted != later.Granted:
		return "the annotation gatefold.io/hostnames of its Namespace has the host"
	case CompareOrigins(first.Origin, later.Origin) > 0:
		return "it was served here before"
	case !first.Origin.Created.Equal(later.Origin.Created):
		return "it is older"
	}
	return "it is the first by namespace and name"
}

// exact is the result of Specific for a hostname without wildcard.
const exact = 1 << 15

// Specific returns how specific a hostname is. A name without wildcard is more specific than every wildcard, a longer
// wildcard is more specific than a shorter one, and "", which stands for every host, is the least specific.
func Specific(hostname string) uint16 {
	if hostname == "" || hostname[0] == '*' {
		return uint16(min(len(hostname), exact-1))
	}
	return exact
}

// OriginOf returns the origin of an object. If path policies are in force, the creationTimestamp counts only in
// files of the platform team (the flag --cluster-paths), because the author of any other file could invent one.
func OriginOf(o *manifest.Object) *ir.Origin {
	if o.Source == manifest.OtherFile {
		return &ir.Origin{Key: o.Key, Outside: true}
	}
	created := o.Value.GetCreationTimestamp()
	return &ir.Origin{Key: o.Key, Created: created.UTC().Truncate(time.Second)}
}
