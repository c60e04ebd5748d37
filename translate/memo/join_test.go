package memo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestJoinPairsWhatSharesAProperty lets both sides of a join come, change and go at random:
// it tells of the pairs that share a property, of each once, and keeps nothing in the end.
// A property "=k" is the name of the key k on the right.
func TestJoinPairsWhatSharesAProperty(t *testing.T) {
	e, paired := New(), map[Pair[string, string]]struct{}{}
	left, right := NewInput[string](e, "in", slices.Equal[[]string]), NewInput[string](e, "in", slices.Equal[[]string])
	listed := func(_ string, properties []string) []string { return properties }
	join := NewJoin(left, listed, right, listed, func(property string) (string, bool) { return strings.CutPrefix(property, "=") })
	join.subscribe(nil, func(pair Pair[string, string], change Change[struct{}]) {
		if _, was := paired[pair]; was != change.Had || was == change.Has {
			t.Fatalf("%v comes or goes twice", pair)
		}
		if change.Has {
			paired[pair] = struct{}{}
		} else {
			delete(paired, pair)
		}
	})
	lefts, rights := map[string][]string{}, map[string][]string{}
	r, most := rand.New(rand.NewPCG(5, 6)), 0
	for step := range 4000 {
		key := fmt.Sprint("k", r.IntN(6))
		switch at, properties := r.IntN(5), someOf(r, "x", "y", "z"); {
		case at == 0:
			left.Delete(key)
			delete(lefts, key)
		case at == 1:
			right.Delete(key)
			delete(rights, key)
		case at < 4:
			lefts[key] = append(properties, someOf(r, "=k0", "=k3", "=k5", "=k7")...)
			left.Set(key, lefts[key])
		default:
			rights[key] = append(properties, "="+key)
			right.Set(key, rights[key])
		}
		want := map[Pair[string, string]]struct{}{}
		for l, of := range lefts {
			for r, has := range rights {
				if slices.ContainsFunc(of, func(property string) bool { return slices.Contains(has, property) }) {
					want[Pair[string, string]{l, r}] = struct{}{}
				}
			}
		}
		if !maps.Equal(paired, want) {
			t.Fatalf("step %d: %v are paired, want %v", step, paired, want)
		}
		most = max(most, len(want))
	}
	for key := range lefts {
		left.Delete(key)
	}
	for key := range rights {
		right.Delete(key)
	}
	if most < 12 || len(paired)+len(join.left)+len(join.right)+len(join.shared) > 0 {
		t.Errorf("of %d pairs at most there are left %v; kept are %v, %v, %v", most, paired, join.left, join.right, join.shared)
	}
}

// someOf returns each of a list or not.
func someOf(r *rand.Rand, all ...string) []string {
	return slices.DeleteFunc(all, func(string) bool { return r.IntN(2) == 0 })
}
