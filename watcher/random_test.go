package watcher

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// Whatever happens to a folder, the events alone lead Watch to the Tree that
// Read gives in the end: there is no fallback scan here.
func TestWatchFollowsRandomEdits(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			base := t.TempDir()
			put(t, "0", base, "v1", "a", "x.yaml")
			relink(t, "v1", base, "current")
			w := start(t, filepath.Join(base, "current"))
			rnd := rand.New(rand.NewPCG(seed, 1))
			for i := range 200 {
				randomEdit(t, rnd, base, i)
				if i%40 == 0 {
					time.Sleep(time.Duration(rnd.IntN(250)) * time.Millisecond)
				}
			}
			want := readAll(t, w.root)
			deadline := time.Now().Add(patience)
			for !w.last.Same(&want) {
				if time.Now().After(deadline) || len(w.trees) == 0 && !w.more() {
					t.Fatalf("Watch ended with\n%v %v, Read gives\n%v %v",
						contents(w.last), skips(w.last), contents(want), skips(want))
				}
				w.last = <-w.trees
			}
		})
	}
}

// more waits for another Tree to come, and leaves it there.
func (w *watching) more() bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if len(w.trees) > 0 {
			return true
		}
	}
	return false
}

// randomEdit does one thing to the folder; what is impossible is left out.
func randomEdit(t *testing.T, rnd *rand.Rand, base string, i int) {
	names := []string{"a", "b", "c", "d/e", "d/f"}
	dir := func() string { return filepath.Join(base, "current", names[rnd.IntN(len(names))]) }
	file := func() string { return filepath.Join(dir(), string(rune('w'+rnd.IntN(3)))+".yaml") }
	content := fmt.Sprint(i)
	switch n := rnd.IntN(20); {
	case n < 6:
		put(t, content, file())
	case n < 9:
		name := file()
		_ = os.WriteFile(name+".tmp", []byte(content), 0o644)
		_ = os.Rename(name+".tmp", name)
	case n < 11:
		_ = os.Remove(file())
	case n < 14:
		_ = os.Rename(dir(), dir())
	case n < 16:
		_ = os.RemoveAll(dir())
	case n < 17:
		_ = os.Rename(dir(), filepath.Join(base, fmt.Sprint("out", i)))
	case n < 18:
		_ = os.Symlink("../"+names[rnd.IntN(3)], filepath.Join(dir(), "link"))
	case n < 19:
		_ = os.Rename(file(), file())
	default:
		fresh := fmt.Sprint("v", i)
		put(t, content, base, fresh, "a", "x.yaml")
		relink(t, fresh, base, "current")
	}
}

func TestWatchLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("watch", func(t *testing.T) { start(t, t.TempDir()) })
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// A hundred flips leave no watch of an old tree behind.
func TestWatchesDoNotLeak(t *testing.T) {
	base := t.TempDir()
	e := listen(t, zerolog.Nop())
	defer e.close()
	go e.drain()
	r := newReader(Options{Root: base}.withDefaults())
	r.enter = func(dir string, id identity) { e.enter(filepath.Join(r.at.path, dir), id) }
	for i := range 100 {
		rev := fmt.Sprint("rev", i)
		put(t, "1", base, ".trees", rev, "sub", "a.yaml")
		relink(t, ".trees/"+rev, base, "current")
		e.begin()
		again(t, r, nil)
		e.end()
	}
	if n := len(e.fs.WatchList()); n != 3 {
		t.Errorf("%d watches, want those of the root, current and sub: %v", n, e.fs.WatchList())
	}
	if n := kernelWatches(t); n > 3 {
		t.Errorf("the kernel holds %d watches, want 3", n)
	}
	if len(e.watched) != 3 || len(e.byID) != 3 {
		t.Errorf("%d paths and %d identities remembered, want 3", len(e.watched), len(e.byID))
	}
}

// listen makes events as Watch does.
func listen(t *testing.T, log zerolog.Logger) *events {
	t.Helper()
	e, err := newEvents(Options{}.withDefaults(), log)
	must(t, err)
	return e
}

// kernelWatches counts what fsnotify may have forgotten.
func kernelWatches(t *testing.T) (n int) {
	t.Helper()
	infos, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, name := range infos {
		text, _ := os.ReadFile(name) // a descriptor may be closed by now
		n += strings.Count(string(text), "inotify wd:")
	}
	return n
}

func TestLostEventsAskForEverything(t *testing.T) {
	e := listen(t, zerolog.Nop())
	done := make(chan struct{})
	go func() { defer close(done); e.drain() }()
	e.fs.Errors <- fsnotify.ErrEventOverflow
	<-e.wake
	if h := e.take(); !h.full {
		t.Errorf("hints = %+v after an overflow, want everything", h)
	}
	if h := e.take(); h.any() {
		t.Errorf("hints = %+v, want none twice", h)
	}
	for i := range maxNames + 1 {
		e.add(fsnotify.Event{Name: fmt.Sprint(i), Op: fsnotify.Write})
	}
	if len(e.names) > maxNames || !e.take().full {
		t.Error("more names than are kept, and not everything is looked at")
	}
	e.close()
	<-done
}

// Without events for a directory there is one warning, and scans.
func TestNoWatchesLeft(t *testing.T) {
	log := new(lines)
	e := listen(t, zerolog.New(log))
	e.close()                            // every Add fails from here on
	e.enter(t.TempDir(), identity{1, 1}) // file system 1
	e.enter(t.TempDir(), identity{1, 2})
	if !e.blind() {
		t.Error("changes come without events, and nobody knows")
	}
	if n := countLines(log.String()); n != 1 {
		t.Errorf("%d lines, want one warning:\n%s", n, log)
	}
}
