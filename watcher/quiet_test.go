package watcher

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// A mass removal is one Tree, not one for every file.
func TestWatchMassRemovalIsOneTree(t *testing.T) {
	root := t.TempDir()
	for i := range 500 {
		put(t, "x", root, fmt.Sprint("d", i%10), fmt.Sprint(i, ".yaml"))
	}
	put(t, "1", root, "keep.yaml")
	age()
	w := start(t, root, func(o *Options) { o.Quiet = 3 * time.Second; o.MaxRemove = time.Hour })
	for i := range 10 {
		must(t, os.RemoveAll(filepath.Join(root, fmt.Sprint("d", i))))
	}
	w.next()
	wantFiles(t, w.last, "keep.yaml=1")
}

// While a folder moves on, additions come after MaxAdd; what vanished is kept
// until MaxRemove, for it may be on its way back.
func TestWatchKeepsWhatVanished(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "gone.yaml")
	put(t, "1", root, "other.yaml")
	age()
	w := start(t, root, func(o *Options) { o.Quiet, o.MaxAdd, o.MaxRemove = time.Hour, 100*time.Millisecond, time.Hour })
	must(t, os.Remove(filepath.Join(root, "gone.yaml")))
	replaceFile(t, "2", root, "other.yaml")
	w.next()
	wantFiles(t, w.last, "gone.yaml=1", "other.yaml=2")
	replaceFile(t, "3", root, "other.yaml")
	w.next()
	wantFiles(t, w.last, "gone.yaml=1", "other.yaml=3")
}

// A directory that was renamed and came back has lost its watch on the way.
func TestWatchDirRenamedAndBack(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "team", "a.yaml")
	age()
	w := start(t, root)
	must(t, os.Rename(filepath.Join(root, "team"), filepath.Join(root, "crew")))
	must(t, os.Rename(filepath.Join(root, "crew"), filepath.Join(root, "team")))
	put(t, "1", root, "sign.yaml")
	w.until("sign.yaml=1", "team/a.yaml=1")
	put(t, "2", root, "team", "a.yaml")
	w.until("sign.yaml=1", "team/a.yaml=2")
}

// A folder that never rests is followed all the same.
func TestWatchLetsGoOfWhatVanished(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "gone.yaml")
	put(t, "1", root, "other.yaml")
	age()
	w := start(t, root, func(o *Options) { o.Quiet, o.MaxAdd, o.MaxRemove = 500*time.Millisecond, time.Hour, time.Second })
	must(t, os.Remove(filepath.Join(root, "gone.yaml")))
	for i := 0; len(w.trees) == 0 && i < 2000; i++ {
		replaceFile(t, fmt.Sprint(i), root, "other.yaml")
		time.Sleep(10 * time.Millisecond)
	}
	if w.next(); w.last.Files.Len() != 1 {
		t.Errorf("the Tree has %v", contents(w.last))
	}
}

// The same content under another signature is no new Tree.
func TestWatchTouchGivesNoTree(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	w := start(t, root)
	name := filepath.Join(root, "a.yaml")
	must(t, os.Chtimes(name, time.Now(), time.Now().Add(time.Hour)))
	must(t, os.Chmod(name, 0o600))
	put(t, "1", root, "a.yaml")
	replaceFile(t, "1", root, "a.yaml")
	time.Sleep(300 * time.Millisecond) // a wrong Tree has time to come
	replaceFile(t, "2", root, "a.yaml")
	w.next()
	wantFiles(t, w.last, "a.yaml=2")
}

func TestWatchWaitsForGitLock(t *testing.T) {
	root := t.TempDir()
	put(t, "", root, ".git", "index.lock")
	put(t, "half", root, "a.yaml")
	released := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() {
		put(t, "whole", root, "a.yaml")
		close(released)
		must(t, os.Remove(filepath.Join(root, ".git", "index.lock")))
	})
	w := start(t, root)
	select {
	case <-released:
	default:
		t.Error("a Tree came while .git/index.lock was there")
	}
	wantFiles(t, w.last, "a.yaml=whole")
}

func TestWatchGivesUpOnOldGitLock(t *testing.T) {
	root := t.TempDir()
	put(t, "", root, ".git", "index.lock")
	put(t, "1", root, "a.yaml")
	w := start(t, root, func(o *Options) { o.MaxLock = 200 * time.Millisecond })
	wantFiles(t, w.last, "a.yaml=1")
	if n := strings.Count(w.log.String(), "index.lock is still there"); n != 1 {
		t.Errorf("%d alarms, want 1:\n%s", n, w.log)
	}
}

// Polling sees the same edits, later.
func TestWatchPolls(t *testing.T) {
	root := filepath.Join(t.TempDir(), "late")
	w := start(t, root, func(o *Options) { o.Mode = Poll; o.FallbackScan = 10 * time.Millisecond })
	put(t, "1", root, "sub", "a.yaml")
	w.until("sub/a.yaml=1")
	replaceFile(t, "2", root, "sub", "a.yaml")
	w.until("sub/a.yaml=2")
	must(t, os.RemoveAll(filepath.Join(root, "sub")))
	w.until()
}

// The target of a link lies in a directory that no event names.
func TestWatchScansForWhatMakesNoEvent(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".hidden", "a.yaml")
	relink(t, ".hidden/a.yaml", root, "a.yaml")
	w := start(t, root, func(o *Options) { o.FallbackScan = 10 * time.Millisecond })
	put(t, "2", root, ".hidden", "a.yaml")
	w.until("a.yaml=2")
}

func TestWatchRescans(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".hidden", "a.yaml")
	relink(t, ".hidden/a.yaml", root, "a.yaml")
	put(t, "0", root, "b.yaml")
	age()
	rescan := make(chan chan<- struct{})
	w := start(t, root, func(o *Options) { o.Rescan = rescan; o.Quiet = time.Hour; o.MaxAdd = 100 * time.Millisecond })
	for _, content := range []string{"2", "2", "3", "3"} { // one Tree each, changed or not, when the channel closes
		put(t, content, root, ".hidden", "a.yaml")
		done := make(chan struct{})
		rescan <- done
		<-done
		if len(w.trees) != 1 {
			t.Fatalf("%d Trees for one request", len(w.trees))
		}
		wantFiles(t, w.next(), "a.yaml="+content, "b.yaml=0")
	}
	close(rescan) // asks no more, and does not spin
	replaceFile(t, "3", root, "b.yaml")
	w.until("a.yaml=3", "b.yaml=3")
}

// Of the Trees that nobody has taken yet, the newest is kept.
func TestWatchKeepsNewestTree(t *testing.T) {
	root := t.TempDir()
	put(t, "0", root, "a.yaml")
	w := step(t, root)
	w.pass(false)
	for _, content := range []string{"1", "2", "3"} {
		replaceFile(t, content, root, "a.yaml")
		w.settle.force()
		w.pass(true)
	}
	wantFiles(t, (<-w.out).tree, "a.yaml=3")
	if len(w.out) > 0 {
		t.Errorf("another Tree is there: %v", contents((<-w.out).tree))
	}
}

// While a call runs, Watch reads on, and gives the rest afterwards.
func TestWatchReadsOnWhileACallRuns(t *testing.T) {
	root := t.TempDir()
	put(t, "0", root, "a.yaml")
	calls, goOn, arrived := make(chan Tree), make(chan struct{}), make(chan Tree, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- Watch(ctx, Options{Root: root, Arrived: func(tree Tree) { arrived <- tree }}, zerolog.Nop(), func(tree Tree) { calls <- tree; <-goOn })
	}()
	wantFiles(t, <-calls, "a.yaml=0")
	put(t, "1", root, "b.yaml")
	for deadline, tree := time.After(patience), (Tree{}); tree.Files.Len() < 2; { // while the first call runs
		select {
		case tree = <-arrived:
		case <-deadline:
			t.Fatal("the new file is not read")
		}
	}
	for tree := (Tree{}); tree.Files.Len() < 2; {
		goOn <- struct{}{}
		tree = <-calls
	}
	cancel()
	goOn <- struct{}{}
	must(t, <-done)
}

func TestMailboxKeepsWhenItWasNoticed(t *testing.T) {
	m := make(mailbox, 1)
	first := time.Unix(1, 0)
	asked := make(chan struct{})
	m.put(parcel{tree: Tree{Root: "old", Noticed: first}, asked: []chan<- struct{}{asked}})
	m.put(parcel{tree: Tree{Root: "new", Noticed: time.Unix(2, 0)}})
	if got := <-m; got.tree.Root != "new" || !got.tree.Noticed.Equal(first) || len(got.asked) != 1 {
		t.Errorf("got %+v, want the new Tree, the older time and who asked for the old one", got)
	}
}

// A Tree stops the work for the one before it, and is replaced by a Tree that is like that one: it is delivered.
func TestMailboxDeliversATreeThatReplacedAnother(t *testing.T) {
	m := make(mailbox, 1)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	m.put(parcel{tree: Tree{Root: "a"}})
	m.deliver(ctx, func(tree Tree) {
		switch calls++; calls {
		case 1:
			m.put(parcel{tree: Tree{Root: "b"}})
			m.put(parcel{tree: tree})
		case 2:
			m.put(parcel{tree: tree}) // nothing was replaced: not delivered
			time.AfterFunc(50*time.Millisecond, cancel)
		default:
			t.Error("a Tree like the one before is delivered")
		}
	})
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

func TestWatchRefusesNoRoot(t *testing.T) {
	if Watch(t.Context(), Options{}, zerolog.Nop(), func(Tree) {}) == nil {
		t.Error("no error for an empty root")
	}
}
