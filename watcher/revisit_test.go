package watcher

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// An edit that an event names costs one look and one reading, however many
// files lie beside it, and the Trees share all but a piece of their files.
func TestOneNameIsLookedAt(t *testing.T) {
	root := t.TempDir()
	for i := range 2000 {
		put(t, "x", root, fmt.Sprintf("%04d.yaml", i))
	}
	age()
	r, dirs, first := known(t, root)
	replaceFile(t, "y", root, "1000.yaml")
	put(t, "z", root, "new.yaml")
	must(t, os.Remove(filepath.Join(root, "1001.yaml")))
	reads, looked := r.reads, lookedAt(r)
	tree := again(t, r, where{dirs[""]: {"1000.yaml": true, "new.yaml": true, "1001.yaml": true, "1001.yaml~": true}})
	if r.reads != reads+2 || !maps.Equal(looked, map[string]int{"1000.yaml": 1, "new.yaml": 1}) {
		t.Errorf("%d files read, want 2; looked at: %v", r.reads-reads, looked)
	}
	want := readAll(t, root)
	if !tree.Same(&want) {
		t.Errorf("Tree = %v", contents(tree))
	}
	if changed, gone := tree.Files.Since(first.Files); len(changed) != 2 || len(gone) != 1 {
		t.Errorf("%d files changed, %d gone", len(changed), len(gone))
	}
	if tree.Files.chunks[0] != first.Files.chunks[0] {
		t.Error("what did not change is not shared")
	}
}

// lookedAt counts, by base name, how often r looks at a file from now on: it asks Takes each time.
func lookedAt(r *reader) map[string]int {
	looked, takes := map[string]int{}, r.takes
	r.takes = func(name string) bool {
		looked[name]++
		return takes(name)
	}
	return looked
}

// The same from the system's event to the Tree.
func TestOneEditOfManyLooksAtItsNames(t *testing.T) {
	root := t.TempDir()
	for i := range 2000 {
		put(t, "x", root, fmt.Sprintf("%04d.yaml", i))
	}
	age()
	w := step(t, root)
	w.pass(false)
	<-w.out
	looked, reads, scans := lookedAt(w.reader), w.reader.reads, w.opt.Stats.Scans.Load()
	replaceFile(t, "y", root, "1000.yaml")
	for len(w.out) == 0 {
		<-w.events.wake
		w.pass(false)
		if !w.settle.idle() {
			w.settle.force() // it need not come to rest
			w.pass(false)
		}
	}
	tree := (<-w.out).tree
	wantWhole(t, tree, "1000.yaml", "y")
	if n := w.reader.reads - reads; n != 1 {
		t.Errorf("%d files were read, want 1", n)
	}
	delete(looked, "1000.yaml.tmp")                                   // it was renamed to the file
	if n := looked["1000.yaml"]; n == 0 || n > 8 || len(looked) > 1 { // once at every wake
		t.Errorf("the names that were looked at: %v", looked)
	}
	if n := w.opt.Stats.Scans.Load() - scans; n != 0 {
		t.Errorf("the folder was scanned %d times", n)
	}
}

// Looks at the names that changed lead to the Tree that a whole reading gives,
// whatever happens to files, directories and links, and however the Trees between
// are loaded.
func TestNamesLeadToTheWholeTree(t *testing.T) {
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		base := t.TempDir()
		for _, dir := range []string{".", "a", "b"} {
			bystanders(t, base, dir)
		}
		age()
		r, _, _ := known(t, base)
		for i := range 120 {
			dir, name := editByName(t, rnd, base, i)
			lookAtName(t, rnd, r, dir, name)
			if i%4 > 0 {
				continue
			}
			age() // what was read in the tick of its change is read again by scans alone
			got, want := again(t, r, where{}), readAll(t, base)
			if !got.Same(&want) {
				changed, gone := got.Files.Since(want.Files)
				t.Fatalf("seed %d, edit %d (%s/%s): names lead to other files %v, without %v, and skips %v, not %v",
					seed, i, dir, name, contents(Tree{Files: FilesOf(changed...)}), gone, skips(got), skips(want))
			}
			clear(r.kept)
		}
	}
}

// bystanders are so many that a name in the directory is looked at alone.
func bystanders(t *testing.T, base, dir string) {
	t.Helper()
	for i := range 5 * crowdShare {
		put(t, "0", base, dir, fmt.Sprintf("z%02d.yaml", i))
	}
}

// editByName does one thing to one name of a directory.
func editByName(t *testing.T, rnd *rand.Rand, base string, i int) (dir, name string) {
	t.Helper()
	dir = []string{".", "a", "b", "a/sub"}[rnd.IntN(4)]
	name = []string{"x.yaml", "y.yaml", "sub", "link.yaml", "sub.yaml"}[rnd.IntN(5)]
	path := filepath.Join(base, dir, name)
	switch rnd.IntN(8) {
	case 0, 1:
		if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() { // a link leads to another name
			_ = os.WriteFile(path, fmt.Append(nil, i), 0o600) // what is impossible is left out
		}
	case 2:
		_ = os.RemoveAll(path)
	case 3:
		must(t, os.WriteFile(filepath.Join(base, ".tmp"), fmt.Append(nil, i), 0o600))
		_ = os.Rename(filepath.Join(base, ".tmp"), path)
	case 4:
		bystanders(t, base, ".dir")
		put(t, fmt.Sprint(i), base, ".dir", "x.yaml")
		_ = os.Rename(filepath.Join(base, ".dir"), path)
	case 5:
		_ = os.Symlink([]string{"a", "y.yaml", "sub", "/not-there", "x.yaml"}[rnd.IntN(5)], path)
	case 6:
		_ = os.Link(filepath.Join(base, dir, []string{"x.yaml", "y.yaml"}[rnd.IntN(2)]), path)
	case 7:
		_ = os.Chmod(path, []os.FileMode{0o600, 0o700}[rnd.IntN(2)])
	}
	return dir, name
}

// lookAtName has r look at the name, and now and then load what it found so far in
// one of the ways in which a Watch does that.
func lookAtName(t *testing.T, rnd *rand.Rand, r *reader, dir, name string) {
	t.Helper()
	root, at, err := openRoot(r.name)
	must(t, err)
	defer root.Close()
	if info, err := root.Stat(dir); err == nil {
		_, stale, err := r.look(root, at, where{signatureOf(info).identity: {name: true}})
		if err == nil && stale {
			_, stale, err = r.look(root, at, nil) // a link
		}
		if err != nil || stale {
			t.Fatalf("stale %v, error %v in a folder that rests", stale, err)
		}
	}
	if rnd.IntN(3) == 0 {
		r.tree(root, loading{keep: func(string) bool { return true }, hold: func(string) bool { return rnd.IntN(2) == 0 }})
	}
}

// BenchmarkOneEdit is an edit of one file among many, in one directory and in
// directories of 100, from the look at its name to the Tree. It should cost the
// same for all.
func BenchmarkOneEdit(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		for _, size := range []int{100, n} {
			b.Run(fmt.Sprintf("files=%d/beside=%d", n, size), func(b *testing.B) {
				root := crowd(b, n, size)
				r, dirs, last := known(b, root)
				team, name := fmt.Sprint("team", n/2/size), fmt.Sprint(n/2, ".yaml")
				hint := where{dirs[team+"/"]: {name: true}}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					b.StopTimer()
					replaceFile(b, fmt.Sprint(i), root, team, name)
					b.StartTimer()
					tree := again(b, r, hint)
					if tree.Same(&last) {
						b.Fatal("the edit is not in the Tree")
					}
					last = tree
				}
			})
		}
	}
}

// What a link leads to may change with any other name beside it, with a hidden one
// as in a mounted ConfigMap: the links of a directory are looked at with every name.
func TestLinksAreLookedAtWithEveryName(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".rev1", "0.yaml")
	put(t, "2", root, ".rev2", "0.yaml")
	relink(t, ".rev1", root, ".data")
	relink(t, ".data/0.yaml", root, "0.yaml")
	for i := range 50 {
		put(t, "x", root, fmt.Sprint("x", i, ".yaml"))
	}
	age()
	r, dirs, _ := known(t, root)
	relink(t, ".rev2", root, ".data")
	if tree := again(t, r, where{dirs[""]: {".data": true}}); string(file(tree, 0).Content) != "2" {
		t.Errorf("the link shows %q", file(tree, 0).Content)
	}
}

// A name that is nobody's costs a look, and no Tree.
func TestNamesOfOthers(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	age()
	w := step(t, root)
	w.pass(false)
	<-w.out
	put(t, "1", root, "a.yaml.swp")
	put(t, "1", root, ".a.yaml")
	<-w.events.wake
	w.pass(false)
	if len(w.out) > 0 || !w.settle.idle() {
		t.Errorf("pending: %v", w.settle.pending)
	}
}

// A file that could not be read and goes, while others move, is in the Tree as it was
// read last, however the Tree is made.
func TestWhatGoesUnreadStaysMeanwhile(t *testing.T) {
	for _, whole := range []bool{false, true} {
		root := t.TempDir()
		put(t, "1", root, "a.yaml")
		age()
		r, dirs, _ := known(t, root, func(o *Options) { o.Limits.FileBytes = 5 })
		put(t, "too long", root, "a.yaml")
		if tree := again(t, r, where{dirs[""]: {"a.yaml": true}}); tree.Files.Len() != 0 || len(tree.Skipped) != 1 {
			t.Fatalf("%v, skipped %v", contents(tree), tree.Skipped)
		}
		must(t, os.Remove(filepath.Join(root, "a.yaml")))
		folder, at, err := openRoot(root)
		must(t, err)
		defer folder.Close()
		_, _, err = r.look(folder, at, where{dirs[""]: {"a.yaml": true}})
		must(t, err)
		r.last.whole = whole
		tree, _ := r.tree(folder, loading{keep: func(string) bool { return true }})
		wantWhole(t, tree, "a.yaml", "1")
	}
}
