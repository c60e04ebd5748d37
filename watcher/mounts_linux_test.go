package watcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// isolated runs the test anew in namespaces of its own, as their root: mounts
// and limits reach nobody else. It reports whether this is that run.
func isolated(t *testing.T) bool {
	t.Helper()
	const mark = "GATEFOLD_ISOLATED_TEST"
	if os.Getenv(mark) == t.Name() {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Skipf("NOT TESTED: the namespace may not mount: %v", err)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "--- SKIP"):
		t.Skipf("the machine does not let it be tried:\n%s", out)
	case err == nil:
	case cmd.ProcessState == nil:
		t.Skipf("NOT TESTED: the machine gives no namespaces (%v)", err)
	default:
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// mounts mounts, or skips the test where that may not be done.
func mounts(t *testing.T, source, target, kind, data string) {
	t.Helper()
	flags := uintptr(0)
	if kind == "" {
		flags = syscall.MS_BIND
	}
	must(t, os.MkdirAll(target, 0o755))
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		t.Skipf("NOT TESTED: mount %s on %s: %v", kind, target, err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) }) // it may be gone by now
}

// unmounts takes a mount away once the watcher holds no file of it open.
func unmounts(t *testing.T, target string) {
	t.Helper()
	err := syscall.Unmount(target, 0)
	for until := time.Now().Add(10 * time.Second); errors.Is(err, syscall.EBUSY) && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
		err = syscall.Unmount(target, 0)
	}
	must(t, err)
}

// limit sets how many watches or instances this namespace may have.
func limit(t *testing.T, name string, n int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/max_inotify_"+name, []byte(fmt.Sprint(n)), 0); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
}

// A mount over the root comes and goes without an event (rows 34, 35).
func TestMountOverRoot(t *testing.T) {
	if !isolated(t) {
		return
	}
	root := t.TempDir()
	put(t, "below", root, "a.yaml")
	w := start(t, root, scans)
	mounts(t, "none", root, "tmpfs", "")
	put(t, "above", root, "a.yaml")
	w.until("a.yaml=above")
	put(t, "edited", root, "a.yaml")
	w.until("a.yaml=edited")
	unmounts(t, root)
	w.until("a.yaml=below")
	put(t, "again", root, "a.yaml")
	w.until("a.yaml=again")
}

// A file in the lower layer of an overlay changes without an event (row 36).
func TestOverlayLowerLayer(t *testing.T) {
	if !isolated(t) {
		return
	}
	base := t.TempDir()
	dirs := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		dirs[name] = filepath.Join(base, name)
		must(t, os.Mkdir(dirs[name], 0o755))
	}
	put(t, "1", dirs["lower"], "a.yaml")
	put(t, "1", dirs["lower"], "b.yaml")
	mounts(t, "none", dirs["merged"], "overlay", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", dirs["lower"], dirs["upper"], dirs["work"]))
	stats := new(Stats)
	w := start(t, dirs["merged"], scans, func(o *Options) { o.Stats = stats })
	put(t, "2", dirs["lower"], "a.yaml")
	w.until("a.yaml=2", "b.yaml=1")
	if stats.Unannounced.Load() == 0 || strings.Count(w.log.String(), "no event for") != 1 {
		t.Errorf("%d unannounced changes are counted; the log:\n%s", stats.Unannounced.Load(), w.log)
	}
	put(t, "2", dirs["merged"], "b.yaml") // copied up
	w.until("a.yaml=2", "b.yaml=2")
}

// A directory that is mounted at a second place is one directory (row 37).
func TestBindMount(t *testing.T) {
	if !isolated(t) {
		return
	}
	base := t.TempDir()
	put(t, "1", base, "real", "a.yaml")
	mounts(t, filepath.Join(base, "real"), filepath.Join(base, "root"), "", "")
	w := start(t, filepath.Join(base, "root"))
	put(t, "2", base, "real", "a.yaml")
	w.until("a.yaml=2")
	put(t, "1", base, "real", "sub", "b.yaml")
	w.until("a.yaml=2", "sub/b.yaml=1")
}

// A file that is mounted by itself is told when another file is renamed over the original (row 38): its edits do not
// arrive. Its content stays until the folder has a file again.
func TestBindMountOfAFile(t *testing.T) {
	if !isolated(t) {
		return
	}
	base := t.TempDir()
	put(t, "1", base, "real", "a.yaml")
	put(t, "", base, "root", "a.yaml")
	target := filepath.Join(base, "root", "a.yaml")
	if err := syscall.Mount(filepath.Join(base, "real", "a.yaml"), target, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("NOT TESTED: mount of a file: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) })
	w := start(t, filepath.Join(base, "root"), scans)
	w.until("a.yaml=1")
	put(t, "2", base, "real", "new")
	must(t, os.Rename(filepath.Join(base, "real", "new"), filepath.Join(base, "real", "a.yaml")))
	w.until()
	if got := skips(w.last); !slices.Equal(got, []string{"a.yaml=FileReplaced"}) {
		t.Errorf("skipped are %v", got)
	}
	must(t, syscall.Unmount(target, syscall.MNT_DETACH))
	put(t, "3", base, "root", "a.yaml")
	w.until("a.yaml=3")
}

// Three watches are allowed, and the folder has ten directories (row 40): one
// warning, and scans find what the events do not tell. More watches heal it.
func TestWatchLimit(t *testing.T) {
	if !isolated(t) {
		return
	}
	limit(t, "watches", 3)
	root := t.TempDir()
	want := []string{}
	for i := range 10 {
		put(t, "1", root, fmt.Sprint("d", i), "a.yaml")
		want = append(want, fmt.Sprintf("d%d/a.yaml=1", i))
	}
	stats := new(Stats)
	w := start(t, root, scans, func(o *Options) { o.Stats = stats })
	for i := range want {
		put(t, "2", root, fmt.Sprint("d", i), "a.yaml")
		want[i] = fmt.Sprintf("d%d/a.yaml=2", i)
		w.until(want...)
	}
	if n := strings.Count(w.log.String(), "max_user_watches"); n != 1 || countLines(w.log.String()) != 1 {
		t.Errorf("want one warning:\n%s", w.log)
	}
	if n := stats.Directories.Load(); stats.Announced.Load() || n < 1 || n > 3 {
		t.Errorf("announced %t, %d directories", stats.Announced.Load(), n)
	}
	limit(t, "watches", 1000)
	for deadline := time.Now().Add(patience); !stats.Announced.Load() || stats.Directories.Load() != 11; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not heal: announced %t, %d directories", stats.Announced.Load(), stats.Directories.Load())
		}
	}
}

// No inotify instance is left (row 41).
func TestInstanceLimit(t *testing.T) {
	if !isolated(t) {
		return
	}
	limit(t, "instances", 0)
	root := t.TempDir()
	put(t, "1", root, "a.yaml")
	w := start(t, root, scans)
	put(t, "2", root, "a.yaml")
	w.until("a.yaml=2")
	if n := strings.Count(w.log.String(), "max_user_instances"); n != 1 || countLines(w.log.String()) != 1 {
		t.Errorf("want one warning:\n%s", w.log)
	}
	err := Watch(t.Context(), Options{Root: root, Mode: Inotify}, zerolog.Nop(), func(Tree) {})
	if err == nil || !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("--watch inotify without events: %v", err)
	}
}

// The probe hears that a directory is opened, and writes nothing.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o555))
	must(t, probe(dir))
	if err := probe(filepath.Join(dir, "nothing")); err == nil || !os.IsNotExist(err) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if kind := foreign(dir); kind != "" {
		t.Errorf("the local file system is %s", kind)
	}
	for magic, want := range map[uint32]string{0x6969: "NFS", 0xFF534D42: "SMB", 0x65735546: "FUSE or virtiofs", 0xEF53: ""} {
		if got := foreignKind(magic); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
}
