package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// known returns a reader that knows root, the identities of its directories
// by path, and the Tree it made.
func known(t testing.TB, root string, change ...func(*Options)) (*reader, map[string]identity, Tree) {
	t.Helper()
	opt := Options{Root: root}.withDefaults()
	for _, c := range change {
		c(&opt)
	}
	r, dirs := newReader(opt), map[string]identity{}
	r.enter = func(dir string, id identity) { dirs[dir] = id }
	return r, dirs, again(t, r, nil)
}

// again looks at dirs, or at everything, and makes a Tree.
func again(t testing.TB, r *reader, dirs where) Tree {
	t.Helper()
	root, at, err := openRoot(r.name)
	must(t, err)
	defer root.Close()
	_, stale, err := r.look(root, at, dirs)
	must(t, err)
	if stale && dirs != nil {
		_, stale, err = r.look(root, at, nil)
		must(t, err)
	}
	tree, moving := r.tree(root, loading{})
	if stale || len(moving) > 0 {
		t.Fatalf("stale %v, moving %v in a folder that rests", stale, moving)
	}
	return tree
}

func TestOneEditReadsOneFile(t *testing.T) {
	root := t.TempDir()
	for i := range 100 {
		put(t, "x", root, fmt.Sprint("d", i%10), fmt.Sprint(i, ".yaml"))
	}
	age()
	r, dirs, first := known(t, root)
	if r.reads != 100 {
		t.Fatalf("the first reading opened %d files, want 100", r.reads)
	}
	replaceFile(t, "y", root, "d3", "3.yaml")
	entered := len(dirs)
	tree := again(t, r, where{dirs["d3/"]: nil})
	if r.reads != 101 {
		t.Errorf("one edit opened %d files", r.reads-100)
	}
	if tree.Same(&first) || tree.Files.Len() != 100 {
		t.Errorf("%d files, changed: %v", tree.Files.Len(), !tree.Same(&first))
	}
	if len(dirs) != entered {
		t.Error("a known directory was entered as new")
	}
	if again(t, r, nil); r.reads > 102 { // the edited file may be read twice for safety
		t.Errorf("a scan without a change opened %d files", r.reads-101)
	}
	if &file(first, 0).Content[0] != &file(tree, 0).Content[0] {
		t.Error("the content of an unchanged file is not shared")
	}
}

// Only the hinted directory is looked at: a change elsewhere stays unseen.
func TestHintListsOnlyItsDirectory(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a", "x.yaml")
	put(t, "1", root, "b", "x.yaml")
	age()
	r, dirs, _ := known(t, root)
	put(t, "two", root, "a", "x.yaml")
	put(t, "two", root, "b", "x.yaml")
	wantFiles(t, again(t, r, where{dirs["a/"]: nil}), "a/x.yaml=two", "b/x.yaml=1")
	wantFiles(t, again(t, r, nil), "a/x.yaml=two", "b/x.yaml=two")
}

// A file of equal size and restored times has another change time.
func TestRestoredTimesAreSeen(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	name := filepath.Join(root, "a.yaml")
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(name, old, old))
	age()
	r, _, _ := known(t, root)
	put(t, "2", root, "a.yaml")
	must(t, os.Chtimes(name, old, old))
	wantFiles(t, again(t, r, nil), "a.yaml=2")
}

// A file that was read within the tick of its change may have changed again
// under the same signature: it is read once more.
func TestYoungFilesAreReadTwice(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	age()
	r, _, _ := known(t, root)
	r.top.entries[0].have.racy = true
	before := r.reads
	again(t, r, nil)
	again(t, r, nil)
	if r.reads != before+1 {
		t.Errorf("%d more readings, want 1", r.reads-before)
	}
}

// What cannot be listed any more is not deleted: its files are skipped.
func TestRefusedDirectoryKeepsItsFiles(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "team", "sub", "a.yaml")
	put(t, "1", root, "z.yaml")
	age()
	r, dirs, before := known(t, root)
	limits := r.limits
	r.limits.Depth = 1
	tree := again(t, r, nil)
	wantFiles(t, tree, "z.yaml=1")
	wantSkips(t, tree, "team=TreeTooLarge", "team/sub=TreeTooLarge", "team/sub/a.yaml=TreeTooLarge")

	r.limits = limits
	reads := r.reads
	if tree = again(t, r, where{dirs[""]: nil}); !tree.Same(&before) {
		t.Errorf("it did not come back: %v %v", contents(tree), skips(tree))
	}
	if r.reads != reads {
		t.Error("unchanged files were read again")
	}
}

// looked is a reader between a listing, which saw a.yaml change, and the reading.
type looked struct {
	*reader
	root *os.Root
}

// listed returns it with the path of a.yaml, which was 1 and is 22.
func listed(t *testing.T) (l looked, path string) {
	t.Helper()
	folder := t.TempDir()
	put(t, "1", folder, "a.yaml")
	age()
	l.reader, _, _ = known(t, folder)
	put(t, "22", folder, "a.yaml")
	root, at, err := openRoot(folder)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	_, _, err = l.look(root, at, nil)
	must(t, err)
	l.root = root
	return l, filepath.Join(folder, "a.yaml")
}

// wantMoving reads: what is not as it was listed keeps its last content.
func (l looked) wantMoving(t *testing.T) {
	t.Helper()
	tree, moving := l.tree(l.root, loading{})
	wantFiles(t, tree, "a.yaml=1")
	if len(moving) != 1 || moving[0] != "a.yaml" {
		t.Errorf("moving = %v, want the file", moving)
	}
}

// A file that grows while it is read keeps its last content.
func TestMovingFileKeepsItsContent(t *testing.T) {
	r, path := listed(t)
	must(t, os.WriteFile(path, []byte("333"), 0o600))
	r.wantMoving(t)
	wantFiles(t, again(t, r.reader, nil), "a.yaml=333")
}

// The old worktree is removed while it is walked: the look is stale.
func TestVanishingDirectoryIsStale(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a", "x.yaml")
	put(t, "1", root, "b", "x.yaml")
	r, _, _ := known(t, root)
	r.enter = func(dir string, _ identity) {
		if dir == "a/" {
			must(t, os.RemoveAll(filepath.Join(root, "b")))
		}
	}
	dir, at, err := openRoot(root)
	must(t, err)
	defer dir.Close()
	if _, stale, err := r.look(dir, at, nil); err != nil || !stale {
		t.Errorf("stale = %v, error = %v", stale, err)
	}
}

// What the system rejects is skipped, not deleted, and tried again.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "team", "a.yaml")
	put(t, "1", root, "z.yaml")
	put(t, "1", root, "plain.yaml")
	for path := root; path != "/"; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && info.Mode()&0o005 != 0o005 {
			must(t, os.Chmod(path, 0o755)) // the test's own directories
		}
	}
	age()
	r, dirs, before := known(t, root)
	chmod := func(mode os.FileMode, name string) { must(t, os.Chmod(filepath.Join(root, name), mode)) }
	chmod(0, "team")
	chmod(0, "z.yaml")
	var tree Tree
	asNobody(t, func() { tree = again(t, r, nil) })
	wantFiles(t, tree, "plain.yaml=1")
	wantSkips(t, tree, "team=Unreadable", "team/a.yaml=Unreadable", "z.yaml=Unreadable")
	changes := look(t, r)
	if !slices.Contains(changes, change{"z.yaml", reread}) {
		t.Errorf("changes = %v: what the system refused is not tried again", changes)
	}
	chmod(0o755, "team")
	chmod(0o644, "z.yaml")
	asNobody(t, func() { tree = again(t, r, where{dirs[""]: nil}) })
	if !tree.Same(&before) {
		t.Errorf("it did not come back: %v %v", contents(tree), skips(tree))
	}
}

// look is a full look without a Tree.
func look(t *testing.T, r *reader) []change {
	t.Helper()
	root, at, err := openRoot(r.name)
	must(t, err)
	defer root.Close()
	changes, _, err := r.look(root, at, nil)
	must(t, err)
	return changes
}

// crowd makes a folder of n files in directories of size.
func crowd(b *testing.B, n, size int) string {
	root := b.TempDir()
	for i := range n {
		put(b, fmt.Sprint("kind: HTTPRoute # ", i), root, fmt.Sprint("team", i/size), fmt.Sprint(i, ".yaml"))
	}
	age()
	return root
}

func BenchmarkFullScan(b *testing.B) {
	root := crowd(b, 10_000, 100)
	r, _, _ := known(b, root)
	b.ReportAllocs()
	for b.Loop() {
		again(b, r, nil)
	}
}

func BenchmarkColdRead(b *testing.B) {
	root := crowd(b, 10_000, 100)
	b.ReportAllocs()
	for b.Loop() {
		_, err := Read(b.Context(), Options{Root: root})
		must(b, err)
	}
}
