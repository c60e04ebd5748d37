package translate

import (
	"cmp"
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// These are the codes of problems about requests, hosts or connections that two routes or matches claim, and that
// only one of them gets: codeShadowed for the loser, and codeContested for a winner in another namespace.
const codeShadowed, codeContested = "Shadowed", "Contested"

// problemSet has the problems that one value of a rule or fold causes. id names the rule and the key of the
// value.
type problemSet struct {
	id   string
	list []manifest.Problem
}

func compareSets(a, b problemSet) int { return cmp.Compare(a.id, b.id) }

// problemFold is the fold of all problems. Each value of a rule or fold that causes problems is a member. The result
// has one problemSet for each member.
type problemFold = memo.Fold[struct{}, string, []manifest.Problem, memo.Ordered[problemSet]]

// reporter is a part of the network (see network) whose values contain problems.
type reporter interface {
	// report declares the problems of the part as members of the given fold (all).
	report(all *problemFold)
}

// newProblems declares the fold of all problems and lets each of the given parts of the network report into
// that fold. The parts must be declared before, because the engine computes values in the order of declaration.
func newProblems(e *memo.Engine, parts ...reporter) *problemFold {
	all := memo.NewFold[struct{}, string, []manifest.Problem](e, "problems", gatherProblems, memo.Ordered[problemSet].Same)
	for _, part := range parts {
		part.report(all)
	}
	return all
}

// problemsFrom adds problems to f, the fold of all problems. They come from the values of one rule or fold (the
// parameter source). The function list returns the problems in one value. The id of a value's problemSet consists of
// the parameter prefix and the key of the value.
func problemsFrom[K comparable, V any](f *problemFold, prefix string, source memo.Keyed[K, V], list func(V) []manifest.Problem) {
	memo.From(f, source, func(key K, value V, yield func(memo.Place[struct{}, string], []manifest.Problem)) {
		if problems := list(value); len(problems) > 0 {
			yield(memo.Place[struct{}, string]{ID: fmt.Sprint(prefix, " ", key)}, problems)
		}
	}, deepEqual)
}

// gatherProblems is the step function of the problemFold (see memo.NewFold). Each member is the problems of one value
// of a rule or fold. If a member is new or changed, gatherProblems stores its problemSet. If a member no longer
// exists, because the value has no problems, gatherProblems removes its problemSet.
func gatherProblems(sets memo.Ordered[problemSet], members []memo.Member[string, []manifest.Problem]) memo.Ordered[problemSet] {
	if sets.Len() == 0 {
		sets = memo.NewOrdered(compareSets)
	}
	for _, m := range members {
		if m.Has {
			sets = sets.Insert(problemSet{m.ID, m.New})
		} else {
			sets = sets.Delete(problemSet{id: m.ID})
		}
	}
	return sets
}
