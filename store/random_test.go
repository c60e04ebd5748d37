package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// folder is a set of files with one document per object, edited at random.
type folder struct {
	random *rand.Rand
	files  map[string][]string // documents by path
	place  map[string]string   // path by name of the object
	last   watcher.Files
}

// edit adds, changes, moves, deletes or comments an object, and thereby files.
func (f *folder) edit() {
	name := fmt.Sprintf("o%d", f.random.IntN(30))
	path := fmt.Sprintf("d%d/f%d.yaml", f.random.IntN(2), f.random.IntN(4))
	if old, ok := f.place[name]; ok {
		at := slices.IndexFunc(f.files[old], func(document string) bool { return nameIn(document) == name })
		document := f.files[old][at]
		f.files[old] = slices.Delete(f.files[old], at, at+1)
		delete(f.place, name)
		switch f.random.IntN(4) {
		case 0:
			return
		case 1:
			f.insert(path, name, document)
			return
		case 2:
			f.insert(old, name, "# note\n"+document)
			return
		}
	}
	f.insert(path, name, route(name, fmt.Sprintf("/%d", f.random.IntN(3))))
}

func (f *folder) insert(path, name, document string) {
	at := f.random.IntN(len(f.files[path]) + 1)
	f.files[path] = slices.Insert(f.files[path], at, document)
	f.place[name] = path
}

func nameIn(document string) string {
	root, _ := parseYAML([]byte(document))
	_, metadata := child(root, step{named: true, key: "metadata"})
	_, name := child(metadata, step{named: true, key: "name"})
	return name.Value
}

// tree is the folder as it is now. Mostly it shares with the Tree before what did
// not change, as those of a Watch do.
func (f *folder) tree() watcher.Tree {
	tree := f.fresh()
	if f.random.IntN(4) > 0 {
		tree.Files = f.last.With(tree.Files.Since(f.last))
	}
	f.last = tree.Files
	return tree
}

func (f *folder) fresh() watcher.Tree {
	files := map[string]string{}
	for path, documents := range f.files {
		for i, document := range documents {
			if i > 0 {
				files[path] += "---\n"
			}
			files[path] += document
		}
	}
	return treeOf(files)
}

// TestWarmIsFresh edits a folder at random. After each edit, what the Changes
// add up to must be what a new Store makes of the folder, and no object may be
// set that did not change.
func TestWarmIsFresh(t *testing.T) {
	for seed := range uint64(4) {
		f := &folder{rand.New(rand.NewPCG(seed, 1)), map[string][]string{}, map[string]string{}, watcher.Files{}}
		warm := newStore(t, Options{})
		held := newHeld()
		for range 30 {
			for range f.random.IntN(4) + 1 {
				f.edit()
			}
			if len(f.place) == 0 {
				continue
			}
			c := warm.Apply(f.tree())
			apply(t, held, c)
			fresh := newHeld()
			apply(t, fresh, newStore(t, Options{}).Apply(f.fresh()))
			compare(t, held, fresh)
			if len(c.Problems) > 0 {
				t.Fatal(c.Problems)
			}
		}
	}
}

// held is what Changes add up to.
type held struct {
	objects map[manifest.Key]*manifest.Object
	invalid map[manifest.Key]*Invalid
}

func newHeld() held { return held{map[manifest.Key]*manifest.Object{}, map[manifest.Key]*Invalid{}} }

func apply(t *testing.T, held held, c Change) {
	t.Helper()
	if !slices.IsSortedFunc(c.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) }) || !slices.IsSortedFunc(c.Gone, manifest.CompareKeys) ||
		!slices.IsSortedFunc(c.Invalid, compareInvalid) {
		t.Fatal("not sorted")
	}
	for _, key := range c.Gone {
		if held.objects[key] == nil && held.invalid[key] == nil {
			t.Fatalf("%v is gone and was not there", key)
		}
		delete(held.objects, key)
		delete(held.invalid, key)
	}
	for _, o := range c.Set {
		if old := held.objects[o.Key]; old != nil && old.Hash == o.Hash {
			t.Fatalf("%v is set and did not change", o.Key)
		}
		held.objects[o.Key] = o
		delete(held.invalid, o.Key)
	}
	for _, i := range c.Invalid {
		if held.objects[i.Key] != nil || reflect.DeepEqual(held.invalid[i.Key], i) {
			t.Fatalf("%v is told of as invalid, and serves or did not change", i.Key)
		}
		held.invalid[i.Key] = i
	}
}

func compare(t *testing.T, warm, fresh held) {
	t.Helper()
	if len(warm.objects) != len(fresh.objects) {
		t.Fatalf("%d objects, a fresh store has %d", len(warm.objects), len(fresh.objects))
	}
	for key, o := range fresh.objects {
		if warm.objects[key] == nil || warm.objects[key].Hash != o.Hash {
			t.Fatalf("%v differs from a fresh store's", key)
		}
	}
	if !reflect.DeepEqual(warm.invalid, fresh.invalid) {
		t.Fatalf("invalid are %v, of a fresh store %v", warm.invalid, fresh.invalid)
	}
}
