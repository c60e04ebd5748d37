package route

import (
	"cmp"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Compare is the one total order of the rules of a virtual host: the first rule
// that matches serves. It is strict: two rules compare as 0 only when they are
// the same rule.
//
// Weight (EP-11466), then the Gateway API's precedence (HTTPRouteRule.matches):
// path kind and length, method, number of headers, of query parameters; then
// rules narrowed to some hosts first, and guards last; then age and name of the root, age and name of the route that
// holds the rule, and its place: the chain and position (docs/design/routes.md).
//
// Where weights order siblings alone (Setting.Siblings), the order is that of a
// tree: all below one match of a delegating rule is a block, which stands where the
// match itself would, and inside of it the same criteria order what is there, its
// guard last whatever the weights. So a weight never reaches out of its block.
func Compare(a, b *ir.Rule) int {
	// A match that delegates from now on meets its old form while tables change.
	return cmp.Or(compareSteps(parting(a, b)), cmp.Compare(len(a.Blocks), len(b.Blocks)))
}

// parting returns the pair that decides between two rules: the outermost blocks that differ, or the
// rules themselves.
func parting(a, b *ir.Rule) (x, y *ir.Rule) {
	for i := 0; ; i++ {
		x, y = step(a, i), step(b, i)
		if x == a || y == b || x != y && compareSteps(x, y) != 0 {
			return x, y
		}
	}
}

func compareSteps(x, y *ir.Rule) int {
	order := criteria(x, y)
	return cmp.Or(order[:]...)
}

// step returns the i-th block of a rule from outside. The last step is the rule itself.
func step(rule *ir.Rule, i int) *ir.Rule {
	if i < len(rule.Blocks) {
		return rule.Blocks[i]
	}
	return rule
}

// criteria compares two rules by each criterion. The first result that is not 0 decides. Why has
// the words for each.
func criteria(a, b *ir.Rule) [11]int {
	return [...]int{
		ir.TrueFirst(!endsBlock(a), !endsBlock(b)),
		cmp.Compare(b.Weight, a.Weight),
		comparePaths(a.Match.Path, b.Match.Path),
		ir.TrueFirst(a.Match.Method != "", b.Match.Method != ""),
		cmp.Compare(len(b.Match.Headers), len(a.Match.Headers)),
		cmp.Compare(len(b.Match.Query), len(a.Match.Query)),
		ir.TrueFirst(len(a.Match.Hosts) > 0, len(b.Match.Hosts) > 0),
		ir.TrueFirst(!a.Guard, !b.Guard),
		CompareOrigins(a.Root, b.Root),
		CompareOrigins(a.Source, b.Source),
		comparePlaces(a, b),
	}
}

// endsBlock reports whether a rule is the guard of a block.
func endsBlock(rule *ir.Rule) bool { return rule.Guard && len(rule.Blocks) > 0 }

// comparePlaces compares the chains of two rules from their common root, level by level. At each
// level it compares the reference of the rule above, the route that it leads to, and the rule and
// match in that route (docs/design/routes.md). Routes of one reference are compared by age and
// name.
func comparePlaces(a, b *ir.Rule) int {
	for i := range min(len(a.Chain), len(b.Chain)) + 1 {
		if order := compareHops(hopOf(a, i), hopOf(b, i)); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a.Chain), len(b.Chain))
}

// hopOf returns the i-th level of a rule's chain. The last one is the rule itself.
func hopOf(rule *ir.Rule, i int) ir.Hop {
	if i < len(rule.Chain) {
		return rule.Chain[i]
	}
	at := rule.Position[len(rule.Position)-2:]
	return ir.Hop{Route: rule.Source.Key, Created: rule.Source.Created, Outside: rule.Source.Outside, Ref: rule.Ref, Rule: at[0], Match: at[1]}
}

func compareHops(a, b ir.Hop) int {
	return cmp.Or(
		cmp.Compare(a.Ref, b.Ref),
		CompareOrigins(&ir.Origin{Key: a.Route, Created: a.Created, Outside: a.Outside}, &ir.Origin{Key: b.Route, Created: b.Created, Outside: b.Outside}),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Match, b.Match),
	)
}

// comparePaths puts exact paths first, then regular expressions (all equal, independent of their
// length), then prefixes, longer values first. Paths of GRPCRoutes come before all of them, ordered
// by the length of the service, then of the method (Gateway API, GRPCRouteRule.matches).
func comparePaths(a, b ir.Path) int {
	if order := compareRPCs(a.RPC, b.RPC); order != 0 {
		return order
	}
	if a.Kind != b.Kind || a.Kind == ir.PathRegex {
		return cmp.Compare(a.Kind, b.Kind)
	}
	return cmp.Compare(len(b.Value), len(a.Value))
}

func compareRPCs(a, b ir.RPC) int {
	return cmp.Or(ir.TrueFirst(a.Is, b.Is), cmp.Compare(len(b.Service), len(a.Service)), cmp.Compare(len(b.Method), len(a.Method)))
}

// CompareOrigins compares by the conflict resolution order: objects of cluster paths first, if
// path policies are in force; then objects with a creationTimestamp, older first; then the
// others; then by namespace/name.
func CompareOrigins(a, b *ir.Origin) int {
	return cmp.Or(
		ir.TrueFirst(!a.Outside, !b.Outside),
		ir.TrueFirst(!a.Created.IsZero(), !b.Created.IsZero()),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Key.Namespace+"/"+a.Key.Name, b.Key.Namespace+"/"+b.Key.Name),
		manifest.CompareKeys(a.Key, b.Key),
	)
}

// OriginOf returns the origin of an object. Under path policies, a creationTimestamp counts
// only in files of cluster paths, because everyone can write one.
func OriginOf(o *manifest.Object) *ir.Origin {
	if o.Source == manifest.OtherFile {
		return &ir.Origin{Key: o.Key, Outside: true}
	}
	created := o.Value.GetCreationTimestamp()
	return &ir.Origin{Key: o.Key, Created: created.UTC().Truncate(time.Second)}
}
