package translate_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
)

// TestNothingIsKept edits a folder at random, compares what is kept with what a
// fresh translator keeps, and takes everything away in the end: not a cell may
// be left, nor a resource, a status or a problem.
func TestNothingIsKept(t *testing.T) {
	edits := 2000
	if testing.Short() {
		edits = 200
	}
	r, mistakes := rand.New(rand.NewPCG(11, 13)), rand.New(rand.NewPCG(17, 19))
	w, files := newWorld(t), map[string]string{}
	for i := range edits {
		randomEdit(r, files)
		if i%10 == 0 {
			randomMistake(mistakes, files)
		}
		w.apply(tree(files))
		if i%100 == 99 {
			w.checkKept(t)
		}
	}
	w.checkCold(t)
	w.remove()
	if cells := w.translator.Cells(); len(cells) > 0 {
		t.Errorf("of an emptied folder, cells are kept: %v", cells)
	}
	if len(w.resources)+len(w.statuses)+len(w.problems) > 0 {
		t.Errorf("of an emptied folder, there stand\n%s", w.text())
	}
}

// checkKept fails when more cells are kept than a fresh translator keeps.
func (w *world) checkKept(t *testing.T) {
	t.Helper()
	fresh := translate.New(translate.Options{Bind: bind})
	fresh.Apply(w.present())
	if warm, cold := w.translator.Cells(), fresh.Cells(); !maps.Equal(warm, cold) {
		t.Fatalf("kept cells %v, of a fresh translator %v", warm, cold)
	}
}

// remove takes every object away, past the store, which would hold the folder.
func (w *world) remove() {
	gone := slices.AppendSeq(slices.Collect(maps.Keys(w.objects)), maps.Keys(w.invalid))
	slices.SortFunc(gone, store.CompareKeys)
	clear(w.objects)
	clear(w.invalid)
	w.hear(w.translator.Apply(store.Change{Gone: gone}))
}
