package watcher

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// watching is a Watch under test and the Trees it gave.
type watching struct {
	*testing.T
	root  string
	trees chan Tree
	last  Tree
	log   *lines
}

// start watches root with options that never scan by themselves unless
// change says otherwise: what comes, comes from an event.
func start(t *testing.T, root string, change ...func(*Options)) *watching {
	t.Helper()
	opt := Options{Root: root, FallbackScan: time.Hour}
	for _, c := range change {
		c(&opt)
	}
	w := &watching{T: t, root: root, trees: make(chan Tree, 1000), log: new(lines)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Watch(ctx, opt, zerolog.New(w.log), func(tree Tree) { w.trees <- tree }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	w.next()
	return w
}

// next waits for a Tree.
func (w *watching) next() Tree {
	w.Helper()
	select {
	case w.last = <-w.trees:
	case <-time.After(patience):
		w.Fatalf("no Tree came; the last one held %v", contents(w.last))
	}
	return w.last
}

// until waits for a Tree that holds exactly want, written "path=content".
func (w *watching) until(want ...string) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for !slices.Equal(contents(w.last), want) {
		if time.Now().After(deadline) {
			w.Fatalf("the Trees never came to %v", want)
		}
		w.next()
	}
}

func contents(t Tree) []string {
	out := []string{}
	for f := range t.Files.All() {
		out = append(out, f.Path+"="+string(f.Content))
	}
	return out
}

func skips(t Tree) []string {
	out := []string{}
	for _, s := range t.Skipped {
		out = append(out, s.Path+"="+string(s.Reason))
	}
	return out
}

// put writes a file and the directories above it.
func put(t testing.TB, content string, elem ...string) {
	t.Helper()
	name := filepath.Join(elem...)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(content), 0o644))
}

// replace writes a file beside name and renames it over name.
func replaceFile(t testing.TB, content string, elem ...string) {
	t.Helper()
	name := filepath.Join(elem...)
	must(t, os.WriteFile(name+".tmp", []byte(content), 0o644))
	must(t, os.Rename(name+".tmp", name))
}

// age lets files grow too old to be read twice for safety.
func age() { time.Sleep(2 * racyWindow) }

// relink makes name a link to target, in one step.
func relink(t testing.TB, target string, elem ...string) {
	t.Helper()
	name := filepath.Join(elem...)
	must(t, os.Symlink(target, name+".tmp"))
	must(t, os.Rename(name+".tmp", name))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatchEditInPlace(t *testing.T) {
	w := start(t, t.TempDir())
	w.until()
	put(t, "1", w.root, "a.yaml")
	w.until("a.yaml=1")
	put(t, "2", w.root, "a.yaml")
	w.until("a.yaml=2")
}

func TestWatchRenameOver(t *testing.T) {
	dir := t.TempDir()
	put(t, "1", dir, "a.yaml")
	age()
	w := start(t, dir, func(o *Options) { o.Quiet = time.Hour; o.MaxAdd = time.Hour })
	w.until("a.yaml=1")
	replaceFile(t, "2", dir, "a.yaml")
	w.until("a.yaml=2") // by RenameQuiet: Quiet never comes
}

func TestWatchNewNestedDirs(t *testing.T) {
	w := start(t, t.TempDir())
	want := []string{}
	for _, team := range []string{"a", "b", "c"} {
		put(t, team, w.root, "x", team, "deep", "er", "r.yaml")
		want = append(want, "x/"+team+"/deep/er/r.yaml="+team)
	}
	w.until(want...)
	put(t, "2", w.root, "x", "a", "deep", "er", "r.yaml")
	want[0] = "x/a/deep/er/r.yaml=2"
	w.until(want...)
}

func TestWatchDirMovedInAndOut(t *testing.T) {
	w := start(t, t.TempDir())
	outside := t.TempDir()
	put(t, "1", outside, "team", "sub", "a.yaml")
	must(t, os.Rename(filepath.Join(outside, "team"), filepath.Join(w.root, "team")))
	w.until("team/sub/a.yaml=1")

	must(t, os.Rename(filepath.Join(w.root, "team"), filepath.Join(w.root, "crew")))
	w.until("crew/sub/a.yaml=1")
	put(t, "2", w.root, "crew", "sub", "a.yaml") // a renamed directory is silent to a naive watcher
	w.until("crew/sub/a.yaml=2")

	must(t, os.Rename(filepath.Join(w.root, "crew"), filepath.Join(outside, "crew")))
	w.until()
	put(t, "3", outside, "crew", "sub", "a.yaml")
	put(t, "1", w.root, "b.yaml")
	w.until("b.yaml=1")
}

func TestWatchRootLinkFlips(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, ".worktrees", "rev1", "a.yaml")
	relink(t, ".worktrees/rev1", base, "current")
	w := start(t, filepath.Join(base, "current"))
	w.until("a.yaml=1")
	if w.last.Revision != "rev1" {
		t.Errorf("Revision = %q, want rev1", w.last.Revision)
	}
	for i, rev := range []string{"rev2", "rev3", "rev4"} {
		content := string(rune('2' + i))
		put(t, content, base, ".worktrees", rev, "a.yaml")
		relink(t, ".worktrees/"+rev, base, "current")
		must(t, os.RemoveAll(filepath.Join(base, ".worktrees", "rev"+string(rune('1'+i)))))
		w.until("a.yaml=" + content)
		if w.last.Revision != rev {
			t.Errorf("Revision = %q, want %s", w.last.Revision, rev)
		}
	}
	put(t, "edited", base, ".worktrees", "rev4", "a.yaml")
	w.until("a.yaml=edited")
}

func TestWatchRootBelowLinkFlips(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "rev1", "sub", "a.yaml")
	put(t, "2", base, "rev2", "sub", "a.yaml")
	relink(t, "rev1", base, "current")
	w := start(t, filepath.Join(base, "current", "sub"))
	w.until("a.yaml=1")
	relink(t, "rev2", base, "current")
	w.until("a.yaml=2")
}

func TestWatchLinkedDirFlips(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".worktrees", "one", "a.yaml")
	put(t, "2", root, ".worktrees", "two", "a.yaml")
	put(t, "2", root, ".worktrees", "two", "b.yaml")
	relink(t, ".worktrees/one", root, "current")
	age()
	w := start(t, root, func(o *Options) { o.Quiet = time.Hour; o.MaxAdd = time.Hour })
	w.until("current/a.yaml=1")
	relink(t, ".worktrees/two", root, "current")
	w.until("current/a.yaml=2", "current/b.yaml=2") // one path replaced by a rename
}

func TestWatchConfigMapSwap(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "..2024", "a.yaml")
	relink(t, "..2024", root, "..data")
	relink(t, "..data/a.yaml", root, "a.yaml")
	w := start(t, root)
	w.until("a.yaml=1")
	put(t, "2", root, "..2025", "a.yaml")
	relink(t, "..2025", root, "..data")
	must(t, os.RemoveAll(filepath.Join(root, "..2024")))
	w.until("a.yaml=2")
}

func TestWatchRootDeletedAndRecreated(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	put(t, "1", root, "a.yaml")
	w := start(t, root)
	w.until("a.yaml=1")
	must(t, os.RemoveAll(root))
	for !w.last.Missing {
		w.next()
	}
	put(t, "2", root, "sub", "a.yaml")
	w.until("sub/a.yaml=2")
	put(t, "3", root, "sub", "a.yaml")
	w.until("sub/a.yaml=3")
}

func TestWatchRootSwappedByRenames(t *testing.T) {
	base := t.TempDir()
	put(t, "1", base, "root", "a.yaml")
	put(t, "2", base, "next", "a.yaml")
	w := start(t, filepath.Join(base, "root"))
	w.until("a.yaml=1")
	must(t, os.Rename(filepath.Join(base, "root"), filepath.Join(base, "old")))
	must(t, os.Rename(filepath.Join(base, "next"), filepath.Join(base, "root")))
	w.until("a.yaml=2")
	put(t, "3", base, "root", "a.yaml")
	w.until("a.yaml=3")
}

func TestWatchLateRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "yet")
	w := start(t, root)
	if !w.last.Missing || w.last.Files.Len() > 0 {
		t.Fatalf("first Tree = %+v, want a missing one", w.last)
	}
	put(t, "1", root, "a.yaml")
	w.until("a.yaml=1")
	if w.last.Missing {
		t.Error("the root is there and still missing")
	}
	if n := strings.Count(w.log.String(), "waiting for it"); n != 1 {
		t.Errorf("%d lines about the missing folder, want 1:\n%s", n, w.log)
	}
}

// A panic of the function that takes Trees is one of Watch, whose caller can begin anew, and has
// the stack that it was raised on.
func TestAPanicInACallIsOneOfWatch(t *testing.T) {
	defer func() {
		if raised := fmt.Sprint(recover()); !strings.HasPrefix(raised, "a mistake, raised at:") || !strings.Contains(raised, "watch_test.go") {
			t.Errorf("got %s", raised)
		}
	}()
	err := Watch(t.Context(), Options{Root: t.TempDir()}, zerolog.Nop(), func(Tree) { panic("a mistake") })
	t.Errorf("Watch returned %v", err)
}
