package route

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// EqualMatches is the beginning of Why's text for rules with the same match.
const EqualMatches = "the matches are equal, and "

// Why returns, as text, why winner comes before loser in the order of Compare.
func Why(winner, loser *ir.Rule) string {
	first, second := parting(winner, loser)
	blocks := whyBlocks(first != winner, second != loser, first, second)
	if first.After == nil && second.After == nil {
		return blocks + whyStandard(first, second)
	}
	switch at, other := placeOf(first), placeOf(second); {
	case CompareStandard(at, other) != 0 && second.After != nil:
		return fmt.Sprintf("%sit stands behind %s, a heavier rule of its namespace: %s", blocks, whose(other), whyStandard(at, other))
	case CompareStandard(at, other) != 0:
		return fmt.Sprintf("%sthe winner stands behind %s, a heavier rule of its namespace, and still comes first: %s", blocks, whose(at), whyStandard(at, other))
	case first.Weight != second.Weight:
		return fmt.Sprintf("%sa higher weight wins among the rules of a namespace (%d, not %d)", blocks, first.Weight, second.Weight)
	}
	return blocks + whyStandard(first, second)
}

// whyStandard returns, as text, why one rule or block has an earlier standard place than another (see Compare).
func whyStandard(first, second *ir.Rule) string {
	for i, order := range criteria(first, second) {
		if order != 0 {
			return reasons(first, second)[i]
		}
	}
	return "it is the same rule"
}

// whyBlocks returns the beginning of the text of Why. A block stands for all rules below one delegating match (see
// ir.Rule.Blocks). The parameter first is the winner, or a block that contains the winner. Then firstIsBlock is true.
// The parameter second is the loser, or a block that contains the loser. Then secondIsBlock is true. The function
// parting finds first and second. The text names the match and the route of each block. If neither first nor second
// is a block, the text is "".
func whyBlocks(firstIsBlock, secondIsBlock bool, first, second *ir.Rule) string {
	switch {
	case firstIsBlock && secondIsBlock:
		return fmt.Sprintf("it is in the block of %s, which comes after that of %s: ", whose(second), whose(first))
	case firstIsBlock:
		return fmt.Sprintf("the winner is in the block of %s, which comes first: ", whose(first))
	case secondIsBlock:
		return fmt.Sprintf("it is in the block of %s, which comes later: ", whose(second))
	}
	return ""
}

// whose returns a text that names the match and the route of a block.
func whose(block *ir.Rule) string {
	at := block.Position[len(block.Position)-2:]
	return fmt.Sprintf("rule %d, match %d of %s", at[0], at[1], block.Source.Key)
}

// reasons returns the text for each of the criteria, in the order of the function criteria.
func reasons(winner, loser *ir.Rule) [14]string {
	w, l := placeMatch(winner), placeMatch(loser)
	return [...]string{
		"it answers what nothing else in its block does",
		fmt.Sprintf("a higher weight wins (%d, not %d)", rank(winner), rank(loser)),
		whyHostname(winner, loser),
		whyPath(w.Path, l.Path),
		"a match with a method goes before one without",
		fmt.Sprintf("more header matches win (%d, not %d)", len(w.Headers), len(l.Headers)),
		fmt.Sprintf("more query parameter matches win (%d, not %d)", len(w.Query), len(l.Query)),
		"a route with hostnames of its own goes before one without",
		"it stands in for what is missing, and comes last among equal matches",
		"a match of a route goes before what is added for preflight requests",
		EqualMatches + loser.Source.Key.String() + " is closed, and comes last",
		EqualMatches + whyOrigin(winner.Root, loser.Root),
		EqualMatches + whyOrigin(winner.Source, loser.Source),
		EqualMatches + whyPlace(winner, loser),
	}
}

// ByHostname reports whether winner comes before loser by the hostnames of their roots alone: without them, loser would
// come first.
func ByHostname(winner, loser *ir.Rule) bool {
	first, second := parting(winner, loser)
	a, b := *placeOf(first), *placeOf(second)
	if compareWidths(&a, &b) >= 0 || CompareStandard(&a, &b) >= 0 {
		return false
	}
	a.Wider, b.Wider = "", ""
	return CompareStandard(&a, &b) > 0
}

// whyHostname returns, as text, why the winner comes first by the hostnames of the two roots (see compareWidths).
func whyHostname(winner, loser *ir.Rule) string {
	const first = "the more specific hostname of a route wins: "
	switch {
	case !winner.Root.Outside && loser.Root.Outside:
		return winner.Root.Key.String() + " comes from cluster paths, and counts as if it had the hostname of the listener"
	case loser.Wider == "*":
		return first + loser.Root.Key.String() + " has no hostnames"
	}
	return fmt.Sprintf("%s%s has only %s", first, loser.Root.Key, loser.Wider)
}

// whyPath returns, as text, why the path of the winner comes before that of the loser (see comparePaths).
func whyPath(winner, loser ir.Path) string {
	if w, l := winner.RPC, loser.RPC; compareRPCs(w, l) != 0 {
		return fmt.Sprintf("the longer service wins, then the longer method (%q %q, not %q %q)", w.Service, w.Method, l.Service, l.Method)
	}
	kinds := [...]string{ir.PathExact: "an exact path", ir.PathRegex: "a regular expression", ir.PathPrefix: "a path prefix"}
	if winner.Kind != loser.Kind {
		return fmt.Sprintf("%s goes before %s", kinds[winner.Kind], kinds[loser.Kind])
	}
	return fmt.Sprintf("a longer path wins (%s, not %s)", winner.Value, loser.Value)
}

// whyPlace returns, as text, why the winner comes first if all earlier criteria are equal (see comparePlaces). The
// two rules then have equal matches, are rules of the same route, and have the same Root (the route that is attached
// to the Gateway).
func whyPlace(winner, loser *ir.Rule) string {
	if slices.Equal(winner.Chain, loser.Chain) {
		return "the first one in the route wins"
	}
	return "its way through the parents comes first"
}

// whyOrigin returns, as text, why the winner comes first in the conflict resolution order (docs/design/inputs.md).
func whyOrigin(winner, loser *ir.Origin) string {
	switch {
	case winner.Outside != loser.Outside:
		return winner.Key.String() + " comes from cluster paths"
	case winner.Created.Equal(loser.Created):
		return winner.Key.String() + " comes first by name"
	case loser.Created.IsZero():
		return winner.Key.String() + " has a creationTimestamp"
	}
	return winner.Key.String() + " is older"
}
