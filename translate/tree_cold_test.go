package translate_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/status"
)

// TestTreeEqualsCold edits random folders: the tree of what is served must be that of a fresh
// Translator.
func TestTreeEqualsCold(t *testing.T) {
	first := testsize.Seed(t)
	delegated, rejected := 0, 0
	for seed := first; seed < first+uint64(testsize.Of(t, 3)); seed++ {
		r, files := rand.New(rand.NewPCG(seed, 12)), map[string]string{}
		w := newWorldWith(t, scoped(seed))
		for edit := range 240 {
			randomEdit(r, files)
			if w.apply(tree(files)); edit%20 != 19 {
				continue
			}
			cold := w.cold()
			warm := treeOf(t, &w.state)
			if want := treeOf(t, &cold); warm != want {
				t.Fatalf("seed %d, edit %d: the tree differs from cold at %s", seed, edit, firstDifference(warm, want))
			}
			delegated += strings.Count(warm, `"delegates"`)
			rejected += strings.Count(warm, `"not-accepted"`)
		}
	}
	if delegated == 0 || rejected == 0 {
		t.Errorf("%d matches hand requests on and %d routes are not accepted: the edits prove nothing", delegated, rejected)
	}
}

// treeOf returns the tree of what a client knows.
func treeOf(t *testing.T, s *state) string {
	t.Helper()
	statuses := slices.SortedFunc(maps.Values(s.statuses), func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	nodes := explain.Tree(explain.Facts{View: s.view(), Problems: s.problems, Statuses: statuses}, explain.TreeFilter{})
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "},{", "},\n{")
}
