package translate

import (
	"cmp"
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// These are the codes of problems about requests, hosts or connections that two routes or matches claim, and that
// only one of them gets: codeShadowed for the loser, and codeContested for a winner in another namespace.
const codeShadowed, codeContested = "Shadowed", "Contested"

// problemSet has the problems that one value of a memo rule or a memo fold causes. id names the memo rule or memo
// fold, and the key of the value.
type problemSet struct {
	id   string
	list []manifest.Problem
}

func compareSets(a, b problemSet) int { return cmp.Compare(a.id, b.id) }

// problemFold is the fold that collects the problems of the whole translation. Its members are the values of memo
// rules and memo folds that cause problems. The result has one problemSet for each such value.
type problemFold = memo.Fold[struct{}, string, []manifest.Problem, ordered.Set[problemSet]]

// reporter is a group of memo rules and memo folds (a part, see network) whose values contain problems.
type reporter interface {
	// report adds the problems in these values to the fold of all problems (the parameter all).
	report(all *problemFold)
}

// newProblems declares the fold of all problems and lets each of the given parts of the network report into
// that fold. The parts must be declared before, because the engine computes values in the order of declaration.
func newProblems(e *memo.Engine, parts ...reporter) *problemFold {
	all := memo.NewFold[struct{}, string, []manifest.Problem](e, "problems", gatherProblems, ordered.Set[problemSet].Same)
	for _, part := range parts {
		part.report(all)
	}
	return all
}

// problemsFrom adds problems to f, the fold of all problems. It adds the problems in the values of the parameter
// source, which is a memo rule or a memo fold. The function list returns the problems in one value. These problems
// become one problemSet in f. The id of the problemSet consists of the parameter prefix and the key of the value.
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
func gatherProblems(sets ordered.Set[problemSet], members []memo.Member[string, []manifest.Problem]) ordered.Set[problemSet] {
	if sets.Len() == 0 {
		sets = ordered.New(compareSets)
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
