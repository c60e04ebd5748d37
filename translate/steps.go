package translate

import (
	"reflect"

	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// What rules and folds are declared with: when two values are equal, and the steps of folds.

// deepEqual compares values of rules that have no cheaper equality.
func deepEqual[V any](a, b V) bool { return reflect.DeepEqual(a, b) }

// identical compares values by ==. Their rules return the same pointer while the value is equal.
func identical[V comparable](a, b V) bool { return a == b }

// sameResource compares resources by version.
func sameResource(a, b xds.Resource) bool { return a.Version == b.Version }

// gather is the step of a fold that keeps its members in order.
func gather[ID comparable, M any](compare func(a, b M) int) func(memo.Ordered[M], []memo.Member[ID, M]) memo.Ordered[M] {
	empty := memo.NewOrdered(compare)
	return func(set memo.Ordered[M], members []memo.Member[ID, M]) memo.Ordered[M] {
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

// sum is the step of a fold that returns the sum of its members.
func sum[ID comparable](n int, members []memo.Member[ID, int]) int {
	for _, m := range members {
		n += m.New - m.Old
	}
	return n
}
