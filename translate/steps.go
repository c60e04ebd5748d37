package translate

import (
	"reflect"

	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// Functions for declarations of rules and folds: equality of values, and the steps of folds.

// deepEqual reports whether two values are deeply equal. It is for rules whose values have no cheaper
// comparison.
func deepEqual[V any](a, b V) bool { return reflect.DeepEqual(a, b) }

// identical reports whether two values are equal by ==. It is for memo rules whose values contain no pointers, or
// only pointers that are equal whenever the data behind them is equal.
func identical[V comparable](a, b V) bool { return a == b }

// sameResource reports whether two resources have the same version.
func sameResource(a, b xds.Resource) bool { return a.Version == b.Version }

// gather returns the step of a memo.Fold whose value is the set of all its members, in the order of compare.
// The step adds new members and removes old ones.
func gather[ID comparable, M any](compare func(a, b M) int) func(ordered.Set[M], []memo.Member[ID, M]) ordered.Set[M] {
	empty := ordered.New(compare)
	return func(set ordered.Set[M], members []memo.Member[ID, M]) ordered.Set[M] {
		if set.Len() == 0 {
			set = empty
		}
		for _, m := range members {
			if m.Had {
				set = set.Delete(m.Old)
			}
			if m.Has {
				set = set.Insert(m.New)
			}
		}
		return set
	}
}

// count is the step of a fold that counts its members.
func count[ID comparable](n int, members []memo.Member[ID, struct{}]) int {
	for _, m := range members {
		switch {
		case !m.Had:
			n++
		case !m.Has:
			n--
		}
	}
	return n
}

// sum is the step of a fold that adds up its members.
func sum[ID comparable](n int, members []memo.Member[ID, int]) int {
	for _, m := range members {
		n += m.New - m.Old
	}
	return n
}
