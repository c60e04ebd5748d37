package watcher

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// git-sync publishes every 30 ms and removes the tree before at once, under
// the reader (row 23). Each Tree is of one revision, and the last one comes.
func TestPublishesFasterThanReading(t *testing.T) {
	base := t.TempDir()
	publish := func(i int) {
		rev := fmt.Sprint("rev", i)
		for n := range 150 {
			put(t, rev, base, ".worktrees", rev, fmt.Sprint("d", n%10), fmt.Sprint(n, ".yaml"))
		}
		relink(t, ".worktrees/"+rev, base, "current")
		must(t, removeAll(filepath.Join(base, ".worktrees", fmt.Sprint("rev", i-1))))
	}
	publish(0)
	w := start(t, filepath.Join(base, "current"))
	for i := range 30 {
		publish(i + 1)
		time.Sleep(30 * time.Millisecond)
	}
	for ; w.last.Revision != "rev30"; w.next() {
		wantOneRevision(t, w.last, 150)
	}
	wantOneRevision(t, w.last, 150)
	if w.log.String() != "" {
		t.Errorf("a flip is no missing folder:\n%s", w.log)
	}
}

// removeAll is os.RemoveAll for a tree that another process walks.
func removeAll(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return nil //nolint:nilerr // there is nothing to remove
	}
	return os.RemoveAll(dir)
}

// The tree goes between listing and reading, and the link leads to another
// one: what was listed is no Tree, whatever the clock says.
func TestNoTreeOfTwoRevisions(t *testing.T) {
	base := t.TempDir()
	for _, rev := range []string{"1", "2", "3"} {
		for n := range 10 {
			put(t, rev, base, "rev"+rev, fmt.Sprint(n, ".yaml"))
		}
	}
	relink(t, "rev1", base, "current")
	age()
	w := step(t, filepath.Join(base, "current"))
	w.pass(false)
	wantOneRevision(t, (<-w.out).tree, 10)

	relink(t, "rev2", base, "current")
	root, at, changes := w.survey(time.Now(), true, nil)
	defer root.Close()
	w.settle.note(time.Now(), changes...)
	relink(t, "rev3", base, "current")
	must(t, os.RemoveAll(filepath.Join(base, "rev2")))
	w.restless = time.Now().Add(-time.Hour) // out of patience
	for _, v := range []verdict{quiet, additions, everything} {
		if w.give(root, at, v); len(w.out) > 0 {
			t.Fatalf("verdict %d: a Tree of %v", v, contents((<-w.out).tree))
		}
	}
	w.settle.force()
	w.pass(true)
	tree := (<-w.out).tree
	if wantOneRevision(t, tree, 10); tree.Revision != "rev3" {
		t.Errorf("revision %q", tree.Revision)
	}
}

// The root goes and comes while it is looked at: it is looked at anew.
func TestRootThatMovesUnderTheReader(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "rev1", "a.yaml")
	put(t, "2", base, "rev2", "a.yaml")
	relink(t, "rev1", base, "current")
	w := step(t, filepath.Join(base, "current"))
	enter := w.reader.enter
	w.reader.enter = func(dir string, id identity) {
		enter(dir, id)
		relink(t, "rev2", base, "current")
		must(t, removeAll(filepath.Join(base, "rev1")))
	}
	w.pass(false)
	tree := (<-w.out).tree
	wantFiles(t, tree, "a.yaml=2")
	if tree.Missing || tree.Revision != "rev2" {
		t.Errorf("%+v", tree)
	}
}

// Directories above the root are renamed: no event tells of it (row 20).
func TestAncestorRenamed(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "a", "b", "root", "x.yaml")
	w := start(t, filepath.Join(base, "a", "b", "root"), scans)
	must(t, os.Rename(filepath.Join(base, "a"), filepath.Join(base, "old")))
	for !w.last.Missing {
		w.next()
	}
	put(t, "2", base, "a", "b", "root", "x.yaml")
	w.until("x.yaml=2")
	put(t, "wrong", base, "old", "b", "root", "x.yaml") // the old tree goes on making events
	put(t, "3", base, "a", "b", "root", "x.yaml")
	w.until("x.yaml=3")
}

// The link to the root leads to nothing, then to something, then to a file.
func TestRootLinkDangles(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "one", "a.yaml")
	relink(t, "one", base, "root")
	w := start(t, filepath.Join(base, "root"))
	missing := func() {
		t.Helper()
		for !w.last.Missing {
			w.next()
		}
	}
	relink(t, "two", base, "root")
	missing()
	put(t, "2", base, "two", "a.yaml")
	w.until("a.yaml=2")
	relink(t, "root", base, "root") // to itself
	for len(w.last.Skipped) == 0 {
		w.next()
	}
	relink(t, "one", base, "root")
	w.until("a.yaml=1")
	relink(t, "one/a.yaml", base, "root") // a file is no folder
	missing()
	relink(t, "two", base, "root")
	w.until("a.yaml=2")
}

// A folder that is emptied is there; it is for others to judge what that means.
func TestRootEmptied(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a", "a.yaml")
	put(t, "1", root, "b.yaml")
	w := start(t, root)
	must(t, os.RemoveAll(filepath.Join(root, "a")))
	must(t, os.Remove(filepath.Join(root, "b.yaml")))
	w.until()
	if w.last.Missing {
		t.Error("an empty folder is taken for a missing one")
	}
	put(t, "2", root, "b.yaml")
	w.until("b.yaml=2")
}

// What may not be read is not gone, be it the root itself.
func TestRefusedRoot(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	r, _, _ := known(t, root)
	if changes := r.keepKnown(&fs.PathError{Err: fs.ErrPermission}); len(changes) != 1 {
		t.Errorf("changes = %v", changes)
	}
	tree, _ := r.tree(nil, loading{})
	wantFiles(t, tree)
	wantSkips(t, tree, "a.yaml=Unreadable")
	wantFiles(t, again(t, r, nil), "a.yaml=1")
}

// The directories on the way to the root are let go when the way has changed,
// though they are still there.
func TestWaysToTheRootDoNotLeak(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "rev0", "deep", "conf", "a.yaml")
	relink(t, "rev0", base, "current")
	w := step(t, filepath.Join(base, "current", "deep", "conf"))
	w.pass(false)
	<-w.out
	few := kernelWatches(t)
	for i := range 100 {
		rev := fmt.Sprint("rev", i+1)
		put(t, rev, base, rev, "deep", "conf", "a.yaml")
		relink(t, rev, base, "current")
		w.settle.force()
		w.pass(true)
		wantFiles(t, (<-w.out).tree, "a.yaml="+rev)
	}
	if n := kernelWatches(t); n > few {
		t.Errorf("the kernel holds %d watches, %d at first", n, few)
	}
}
