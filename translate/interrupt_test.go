package translate_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

var errEnough = errors.New("enough")

// fuse is a memo.Stop that ends the work after a number of checks, by an error or, as a
// mistake in a rule would, by a panic.
type fuse struct {
	checks int
	panics bool
}

func (f *fuse) Err() error {
	if f.checks--; f.checks >= 0 {
		return nil
	}
	if f.panics {
		panic(errEnough)
	}
	return errEnough
}

// takeUntil has the Translator take a Change until the fuse ends it; false when it took
// all before that.
func takeUntil(t *testing.T, translator *translate.Translator, change store.Change, f *fuse) (ended bool) {
	t.Helper()
	defer func() {
		if mistake := recover(); mistake != nil {
			if mistake != any(errEnough) {
				panic(mistake)
			}
			ended = true
		}
	}()
	err := translator.Take(f, change)
	if fault := new(translate.Fault); err != nil && !errors.Is(err, errEnough) && !(errors.As(err, &fault) && f.panics) {
		t.Fatal(err)
	}
	return err != nil
}

// TestInterruptedEqualsCold interrupts the translation of random edits at random points.
// Then further edits follow, or the Change is reverted and taken in parts: what is published
// in the end is what a fresh Translator publishes.
func TestInterruptedEqualsCold(t *testing.T) {
	first := testsize.Seed(t)
	for seed := first; seed < first+uint64(testsize.Of(t, 3)); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 17))
			w, files := newWorldWith(t, scoped(seed)), map[string]string{}
			for range 60 {
				randomEdit(r, files)
			}
			w.apply(tree(files))
			ends := map[string]int{}
			for range 50 {
				for range 1 + r.IntN(3) {
					randomEdit(r, files)
					randomMistake(r, files)
				}
				before := w.present()
				change := w.note(tree(files))
				if takeUntil(t, w.translator, change, &fuse{r.IntN(1 << r.IntN(12)), r.IntN(2) == 0}) {
					ends[w.interrupted(t, r, before, change)]++
				}
				w.hear(w.translator.Apply(store.Change{}))
				w.checkCold(t)
			}
			if len(ends) < 3 {
				t.Fatalf("interrupted: %v: this proves little", ends)
			}
		})
	}
}

// interrupted goes on after an interruption, in one of three ways, which it names.
func (w *world) interrupted(t *testing.T, r *rand.Rand, before, change store.Change) string {
	t.Helper()
	switch r.IntN(3) {
	case 0:
		return "continued"
	case 1: // as if the Change had never been
		w.revert(t, before, change)
		w.hear(w.translator.Apply(store.Change{}))
		w.forget(before)
		w.checkCold(t)
		w.remember(change)
		if err := w.translator.Take(nil, change); err != nil {
			t.Fatal(err)
		}
		return "reverted"
	default: // object after object
		w.revert(t, before, change)
		for _, part := range parts(change) {
			for takeUntil(t, w.translator, part, &fuse{r.IntN(400), r.IntN(2) == 0}) && r.IntN(3) > 0 {
				w.revert(t, before, part)
			}
			if err := w.translator.Take(nil, part); err != nil {
				t.Fatal(err)
			}
		}
		return "in parts"
	}
}

// revert takes back a Change. The parameter before has all objects before it.
func (w *world) revert(t *testing.T, before, change store.Change) {
	t.Helper()
	var back store.Change
	changed := map[manifest.Key]bool{}
	for _, o := range change.Set {
		changed[o.Key] = true
	}
	for _, key := range change.Gone {
		changed[key] = true
	}
	for _, i := range change.Invalid {
		changed[i.Key] = true
	}
	for key := range changed {
		back.Gone = append(back.Gone, key)
	}
	back.Set = slices.DeleteFunc(slices.Clone(before.Set), func(o *manifest.Object) bool { return !changed[o.Key] })
	back.Invalid = slices.DeleteFunc(slices.Clone(before.Invalid), func(i *store.Invalid) bool { return !changed[i.Key] })
	back.Gone = slices.DeleteFunc(back.Gone, func(key manifest.Key) bool {
		return slices.ContainsFunc(back.Set, func(o *manifest.Object) bool { return o.Key == key })
	})
	if err := w.translator.Take(nil, back); err != nil {
		t.Fatal(err)
	}
}

// note has the store read a folder, and remembers its objects.
func (w *world) note(tree watcher.Tree) store.Change {
	change := w.store.Apply(tree)
	w.remember(change)
	return change
}

// remember adds a Change to the objects of the world.
func (w *world) remember(change store.Change) {
	for _, object := range change.Set {
		w.objects[object.Key] = object
		delete(w.invalid, object.Key)
	}
	for _, key := range change.Gone {
		delete(w.objects, key)
		delete(w.invalid, key)
	}
	for _, invalid := range change.Invalid {
		w.invalid[invalid.Key] = invalid
	}
}

// forget makes all the objects of the world.
func (w *world) forget(all store.Change) {
	clear(w.objects)
	clear(w.invalid)
	w.remember(all)
}

// parts returns a Change for each object of one.
func parts(change store.Change) (all []store.Change) {
	keys := map[manifest.Key]*store.Change{}
	at := func(key manifest.Key) *store.Change {
		if keys[key] == nil {
			keys[key] = &store.Change{}
		}
		return keys[key]
	}
	for _, object := range change.Set {
		at(object.Key).Set = []*manifest.Object{object}
	}
	for _, key := range change.Gone {
		at(key).Gone = []manifest.Key{key}
	}
	for _, invalid := range change.Invalid {
		at(invalid.Key).Invalid = []*store.Invalid{invalid}
	}
	for _, key := range slices.SortedFunc(maps.Keys(keys), manifest.CompareKeys) {
		all = append(all, *keys[key])
	}
	return all
}

// asked is a memo.Stop that counts how often it is asked.
type asked int

func (a *asked) Err() error { *a++; return nil }

// A route is one rule of the network. How often its translation can be interrupted grows with
// what it has to encode.
func TestALongRouteCanBeInterrupted(t *testing.T) {
	questions := func(matches int) int {
		paths := make([]string, matches)
		for i := range paths {
			paths[i] = fmt.Sprintf(`{path: {type: RegularExpression, value: "/a%d/[a-z]{1,64}"}}`, i)
		}
		w := newWorld(t)
		change := w.store.Apply(tree(map[string]string{
			"gateway.yaml": `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: eg},
  spec: {gatewayClassName: gatefold, listeners: [{name: http, protocol: HTTP, port: 80}]}}`,
			"route.yaml": `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: long},
  spec: {parentRefs: [{name: eg}], rules: [{matches: [` + strings.Join(paths, ", ") + `]}]}}`,
		}))
		var count asked
		if err := translate.New(translate.Options{}).Take(&count, change); err != nil {
			t.Fatal(err)
		}
		return int(count)
	}
	if few, many := questions(1), questions(61); many < few+60 {
		t.Errorf("asked %d times for one match, %d times for 61", few, many)
	}
}
