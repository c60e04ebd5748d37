package watcher

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// scans makes the fallback scan come often, for what makes no event.
func scans(o *Options) { o.FallbackScan = 10 * time.Millisecond }

// 200 trees of new directories, made as fast as it goes (row 17).
func TestManyNewTrees(t *testing.T) {
	w := start(t, t.TempDir())
	want := []string{}
	for i := range 200 {
		for _, below := range []string{"a.yaml", "b/b.yaml", "b/c/c.yaml"} {
			path := fmt.Sprintf("t%03d/%s", i, below)
			put(t, "1", w.root, path)
			want = append(want, path+"=1")
		}
	}
	w.until(want...)
}

// Attributes change a thousand times (row 12): no Tree comes of it.
func TestChmodStorm(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	put(t, "1", root, "b.yaml")
	w := start(t, root)
	for i := range 1000 {
		for _, name := range []string{"a.yaml", "b.yaml"} {
			must(t, os.Chmod(filepath.Join(root, name), 0o600|os.FileMode(i%8)))
		}
	}
	put(t, "2", root, "a.yaml")
	w.next()
	wantFiles(t, w.last, "a.yaml=2", "b.yaml=1")
}

// A file that is written through a mapping makes no event (row 16).
func TestMappedWrite(t *testing.T) {
	root := t.TempDir()
	put(t, "old", root, "a.yaml")
	age()
	stats := new(Stats)
	w := start(t, root, scans, func(o *Options) { o.Stats = stats })
	f, err := os.OpenFile(filepath.Join(root, "a.yaml"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	mapped, err := syscall.Mmap(int(f.Fd()), 0, 3, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(t, err)
	copy(mapped, "new")
	must(t, syscall.Munmap(mapped))
	must(t, f.Sync()) // some file systems note the time of such a write only when they write it out
	w.until("a.yaml=new")
	if n := stats.Unannounced.Load(); n != 1 {
		t.Errorf("%d unannounced changes are counted, want 1", n)
	}
	if text := w.log.String(); strings.Count(text, "no event for") != 1 || !strings.Contains(text, `"path":"a.yaml"`) {
		t.Errorf("want one line that names the file:\n%s", text)
	}
}

// A change whose event comes after the timed scan that found it is not counted as unannounced.
func TestAnnouncedChangesAreNoNews(t *testing.T) {
	root, stats, log := t.TempDir(), new(Stats), new(lines)
	opt := Options{Root: root, FallbackScan: time.Hour, RenameQuiet: time.Hour, Quiet: time.Hour, Stats: stats}.withDefaults()
	w, err := newWatch(opt, zerolog.New(log))
	must(t, err)
	go w.events.drain()
	defer w.events.close()
	w.pass(false)
	<-w.out
	for i := range 10 {
		put(t, fmt.Sprint(i), root, "a.yaml")
		w.nextScan = time.Time{} // now
		w.pass(false)
		for len(w.unannounced) > 0 {
			select {
			case <-w.events.wake:
			case <-time.After(patience):
				t.Fatal("no event came")
			}
			w.pass(false)
		}
		w.pass(true) // a reload request makes the Tree at once
		if p := <-w.out; contents(p.tree)[0] != fmt.Sprint("a.yaml=", i) {
			t.Fatalf("the Tree holds %v", contents(p.tree))
		}
	}
	if n := stats.Unannounced.Load(); n > 0 || log.String() != "" {
		t.Errorf("%d unannounced changes:\n%s", n, log)
	}
	if !stats.Announced.Load() || stats.Directories.Load() != 1 || stats.Scans.Load() < 2 {
		t.Errorf("announced %t, %d directories, %d scans", stats.Announced.Load(), stats.Directories.Load(), stats.Scans.Load())
	}
}

// Two links lead to one directory, which is read by one of them and gives its events there (row 26).
func TestTwoPathsToOneDirectory(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, ".real", "a.yaml")
	relink(t, ".real", root, "one")
	relink(t, ".real", root, "two")
	w := start(t, root)
	put(t, "2", root, ".real", "a.yaml")
	w.until("one/a.yaml=2")
	must(t, os.Remove(filepath.Join(root, "one"))) // the one that is read
	w.until("two/a.yaml=2")
	put(t, "3", root, ".real", "a.yaml")
	w.until("two/a.yaml=3")
}

// The kernel's queue runs over while nobody reads it (rows 29, 30).
func TestEventOverflow(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml", "sub/c.yaml"} {
		put(t, "1", root, name)
	}
	log := new(lines)
	opt := Options{Root: root, FallbackScan: time.Hour}.withDefaults()
	w, err := newWatch(opt, zerolog.New(log))
	must(t, err)
	w.pass(false)
	<-w.out
	limit := 16_384
	if text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events"); err == nil {
		_, _ = fmt.Sscan(string(text), &limit)
	}
	for i := range limit + 5000 { // fsnotify has room for some; alternating, or the kernel would make one event of them
		must(t, os.Chmod(filepath.Join(root, []string{"a.yaml", "b.yaml"}[i%2]), 0o600|os.FileMode(i/2%8)))
	}
	put(t, "2", root, "sub", "c.yaml") // its event is lost
	go w.events.drain()
	defer w.events.close()
	want := []string{"a.yaml=1", "b.yaml=1", "sub/c.yaml=2"}
	var last Tree
	for deadline := time.Now().Add(patience); !slices.Equal(contents(last), want); w.pass(false) {
		select {
		case p := <-w.out:
			last = p.tree
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d overflows told, and the last Tree is %v", opt.Stats.Lost.Load(), contents(last))
		}
	}
	if opt.Stats.Lost.Load() == 0 {
		t.Error("no overflow was told: it was not tried")
	}
}

// Things that are no files come and go while the folder is watched (rows 42, 43).
func TestWhatIsNoFileComesAndGoes(t *testing.T) {
	w := start(t, t.TempDir())
	path := filepath.Join(w.root, "x.yaml")
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return syscall.Mkfifo(path, 0o644) }, "x.yaml=NotRegularFile"},
		{func() error { return os.Symlink("nothing.yaml", path) }, "x.yaml=Unreadable"},
		{func() error { return os.Symlink("x.yaml", path) }, "x.yaml=Unreadable"},
		{func() error { return os.Symlink("/etc/hostname", path) }, "x.yaml=LinkLeavesRoot"},
		{func() error { return os.Mkdir(path, 0o755) }, "x.yaml=NotRegularFile"},
		{func() error {
			l, err := net.Listen("unix", path)
			if err == nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		}, "x.yaml=NotRegularFile"},
	}
	for i, step := range steps {
		must(t, step.do())
		put(t, fmt.Sprint(i), w.root, "ok.yaml")
		for w.next(); !slices.Equal(skips(w.last), []string{step.want}); w.next() {
			if len(skips(w.last)) > 0 {
				t.Fatalf("step %d: %v, want %s", i, skips(w.last), step.want)
			}
		}
		must(t, os.Remove(path))
		w.until(fmt.Sprint("ok.yaml=", i))
	}
	put(t, "file", w.root, "x.yaml")
	w.until("ok.yaml=5", "x.yaml=file")
}

// A FIFO takes the place of a listed file: opening it must not block (row 42).
func TestFIFOBetweenListingAndReading(t *testing.T) {
	r, path := listed(t)
	must(t, os.Remove(path))
	must(t, syscall.Mkfifo(path, 0o644))
	r.wantMoving(t)
}

// Names are bytes (row 44).
func TestOddNames(t *testing.T) {
	w := start(t, t.TempDir())
	names := []string{
		"\x1b[2J.yaml", " .yaml", "*?[a-z].yaml", "-rf.yaml", "a\nb/c.yaml", "café/x.yaml", strings.Repeat("x", 250) + ".yaml",
		"ÿ/\xff\xfe.yaml", "…/x.yaml", "~/x.yaml",
	}
	for _, content := range []string{"1", "2"} {
		want := []string{}
		for _, name := range names {
			put(t, content, w.root, name)
			want = append(want, name+"="+content)
		}
		slices.Sort(want)
		w.until(want...)
	}
	if w.log.String() != "" {
		t.Errorf("the log:\n%s", w.log)
	}
}

// A file moves between directories, and both swap names: nothing is lost.
func TestFilesMoveBetweenDirectories(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a", "x.yaml")
	put(t, "2", root, "b", "y.yaml")
	w := start(t, root)
	must(t, os.Rename(filepath.Join(root, "a", "x.yaml"), filepath.Join(root, "b", "x.yaml")))
	w.until("b/x.yaml=1", "b/y.yaml=2")
	must(t, os.Rename(filepath.Join(root, "b"), filepath.Join(root, "c")))
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")))
	must(t, os.Rename(filepath.Join(root, "c"), filepath.Join(root, "a")))
	w.until("a/x.yaml=1", "a/y.yaml=2")
	put(t, "3", root, "a", "x.yaml")
	put(t, "4", root, "b", "z.yaml")
	w.until("a/x.yaml=3", "a/y.yaml=2", "b/z.yaml=4")
}

// Events that name nothing of the folder cost no Tree, and a Write behind a
// rename takes back that the file is complete.
func TestHintsThatComeLate(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	age()
	w, err := newWatch(Options{Root: root, FallbackScan: time.Hour}.withDefaults(), zerolog.Nop())
	must(t, err)
	defer w.events.close()
	w.pass(false)
	<-w.out
	name := filepath.Join(root, "a.yaml")
	replaceFile(t, "2", name)
	kindAfter := func(op fsnotify.Op) kind {
		w.events.add(fsnotify.Event{Name: name, Op: op})
		w.pass(false)
		return w.settle.pending["a.yaml"].kind
	}
	w.settle.opt.RenameQuiet, w.settle.opt.Quiet = time.Hour, time.Hour
	for _, step := range []struct {
		op   fsnotify.Op
		want kind
	}{{fsnotify.Chmod, swapped}, {fsnotify.Create, replaced}, {fsnotify.Write, written}} {
		if got := kindAfter(step.op); got != step.want {
			t.Errorf("after %s: kind %d, want %d", step.op, got, step.want)
		}
	}
}

// A file system that others change, too: one warning, and a look at everything
// before a change is loaded. --watch inotify says that nobody else does.
func TestForeignFileSystem(t *testing.T) {
	root := t.TempDir()
	put(t, "1", root, "sub", "a.yaml")
	for _, mode := range []Mode{Auto, Inotify} {
		log := new(lines)
		opt := Options{Root: root, Mode: mode, FallbackScan: time.Hour}.withDefaults()
		w, err := newWatch(opt, zerolog.New(log))
		must(t, err)
		if mode == Auto {
			w.events.foreign = func(string) string { return "NFS" }
		}
		w.pass(false)
		<-w.out
		put(t, fmt.Sprint("2", mode), root, "sub", "a.yaml") // nobody reads its event
		put(t, fmt.Sprint("2", mode), root, "b.yaml")
		w.events.add(fsnotify.Event{Name: filepath.Join(root, "b.yaml"), Op: fsnotify.Write})
		w.settle.opt.Quiet = time.Nanosecond
		w.pass(false)
		tree := (<-w.out).tree
		seen := string(file(tree, 1).Content) == fmt.Sprint("2", mode)
		if foreign := mode == Auto; seen != foreign || opt.Stats.Announced.Load() == foreign || countLines(log.String()) != map[bool]int{true: 1}[foreign] {
			t.Errorf("%s: the whole folder was looked at: %t, announced %t; the log:\n%s", mode, seen, opt.Stats.Announced.Load(), log)
		}
		w.events.close()
	}
}
