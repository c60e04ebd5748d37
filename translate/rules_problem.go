package translate

import (
	"cmp"
	"fmt"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// codeShadowed is the code of problems about requests that another route takes.
const codeShadowed = "Shadowed"

// problemSet holds the problems of one value of one rule.
type problemSet struct {
	id   string
	list []manifest.Problem
}

func compareSets(a, b problemSet) int { return cmp.Compare(a.id, b.id) }

type problemFold = memo.Fold[struct{}, string, []manifest.Problem, memo.Ordered[problemSet]]

// reporter is a part of the network whose values hold problems.
type reporter interface {
	// report makes them members of the fold of all problems.
	report(all *problemFold)
}

// newProblems declares the fold of all problems. The parts must be declared before, because the
// fold is settled after them.
func newProblems(e *memo.Engine, parts ...reporter) *problemFold {
	all := memo.NewFold[struct{}, string, []manifest.Problem](e, "problems", gatherProblems, memo.Ordered[problemSet].Same)
	for _, part := range parts {
		part.report(all)
	}
	return all
}

// problemsFrom adds the problems in the values of a rule to the fold.
func problemsFrom[K comparable, V any](f *problemFold, name string, of memo.Keyed[K, V], list func(V) []manifest.Problem) {
	memo.From(f, of, func(key K, value V, yield func(memo.Place[struct{}, string], []manifest.Problem)) {
		if problems := list(value); len(problems) > 0 {
			yield(memo.Place[struct{}, string]{ID: fmt.Sprint(name, " ", key)}, problems)
		}
	}, deepEqual)
}

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
