package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
)

// TestExpectedEqualsCold expects the objects of a random folder, and then has those of
// the folder after some edits: what is published must be what a fresh Translator gives.
func TestExpectedEqualsCold(t *testing.T) {
	first := testsize.Seed(t)
	for seed := first; seed < first+uint64(testsize.Of(t, 2)); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r, files, gone := rand.New(rand.NewPCG(seed, 11)), map[string]string{}, 0
			w := newWorldWith(t, scoped(seed))
			for range 60 {
				randomEdit(r, files)
			}
			for round := range 20 {
				w.apply(tree(files))
				expected, before := w.present().Set, maps.Clone(w.objects)
				for range round % 5 { // none at first
					randomEdit(r, files)
				}
				if round%5 == 4 {
					delete(files, pick(r, slices.Sorted(maps.Keys(files))...))
				}
				w.apply(tree(files))
				change := w.present()
				for _, object := range expected {
					if w.objects[object.Key] == nil {
						change.Gone = append(change.Gone, object.Key)
						gone++
					}
				}
				options, got := w.options, newState()
				warm := translate.New(options)
				ran := warm.Ran()
				if err := warm.Take(nil, store.Change{Set: expected}); err != nil {
					t.Fatal(err)
				}
				_ = ran()
				result := warm.Apply(change)
				if rebuilt := ran(); maps.Equal(before, w.objects) && len(rebuilt) > 0 && len(w.invalid) == 0 {
					t.Fatalf("what was expected came, and these rules ran: %v", rebuilt)
				}
				got.hear(result)
				if cold := w.cold(); !got.equals(&cold) || len(got.idle) > 0 {
					t.Fatalf("differs from cold at %s; updates of what was never there: %q", firstDifference(got.text(), cold.text()), got.idle)
				}
			}
			if gone == 0 {
				t.Fatal("nothing that was expected is gone: the edits prove little")
			}
		})
	}
}
