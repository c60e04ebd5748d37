package translate_test

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// TestNothingIsKept edits a folder at random, compares what is kept with what a
// fresh translator keeps, and takes everything away in the end: not a cell may
// be left, nor a resource, a status or a problem.
func TestNothingIsKept(t *testing.T) {
	edits := testsize.Of(t, 600)
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
	slices.SortFunc(gone, manifest.CompareKeys)
	clear(w.objects)
	clear(w.invalid)
	w.hear(w.translator.Apply(store.Change{Gone: gone}))
}

// TestHeapAfterManyEdits edits one route after another of a folder to and fro: what is kept
// afterwards is what was kept after the first edits.
func TestHeapAfterManyEdits(t *testing.T) {
	const first, routes = 1000, 300
	edits := testsize.Of(t, 4000)
	all, route, err := cases.Shape{Routes: routes, Hosts: 10}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	translator := translate.New(translate.Options{})
	translator.Apply(store.Change{Set: all})
	var early int64
	for i := range edits {
		translator.Apply(store.Change{Set: []*manifest.Object{route(i%routes, i)}})
		if i+1 == first {
			early = liveHeap()
		}
	}
	late := liveHeap()
	t.Logf("live heap after %d edits: %d KB, after %d: %d KB, %.3f times as much", first, early/1024, edits, late/1024, float64(late)/float64(early))
	if float64(late) > 1.05*float64(early) {
		t.Errorf("the live heap grew from %d to %d bytes in %d edits", early, late, edits-first)
	}
	runtime.KeepAlive(translator)
}
