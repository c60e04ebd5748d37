package watcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// leases skips nothing: it reports whether this system says who has a file open.
func leases(t *testing.T) bool {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	must(t, err)
	defer f.Close()
	return openForWriting(f)
}

// A file that its writer still has open is not read, however long the pause, while the
// files of others are; when it is closed, it is read whole.
func TestWatchWaitsForTheWriter(t *testing.T) {
	if !leases(t) {
		t.Log("this system does not say who has a file open for writing")
		return
	}
	root := t.TempDir()
	put(t, "old", root, "a-team", "x.yaml")
	put(t, "1", root, "b-team", "x.yaml")
	age()
	w := start(t, root)
	slow, err := os.OpenFile(filepath.Join(root, "a-team", "x.yaml"), inPlace, 0)
	must(t, err)
	fresh, err := os.Create(filepath.Join(root, "a-team", "new.yaml"))
	must(t, err)
	for _, f := range []*os.File{slow, fresh} {
		_, err = f.WriteString("half")
		must(t, err)
	}
	for _, text := range []string{"2", "3", "4"} {
		time.Sleep(500 * time.Millisecond) // a watcher that does not ask would have read it
		put(t, text, root, "b-team", "x.yaml")
		w.until("a-team/x.yaml=old", "b-team/x.yaml="+text)
	}
	for _, f := range []*os.File{slow, fresh} {
		_, err = f.WriteString(" whole")
		must(t, err)
		must(t, f.Close())
	}
	w.until("a-team/new.yaml=half whole", "a-team/x.yaml=half whole", "b-team/x.yaml=4")
}

// At a start, too, a file that is being written is waited for, and says so.
func TestWatchStartsBesideAWriter(t *testing.T) {
	if !leases(t) {
		t.Log("this system does not say who has a file open for writing")
		return
	}
	root := t.TempDir()
	put(t, "1", root, "b.yaml")
	f, err := os.Create(filepath.Join(root, "a.yaml"))
	must(t, err)
	_, err = f.WriteString("half")
	must(t, err)
	w := start(t, root)
	wantFiles(t, w.last, "b.yaml=1")
	wantSkips(t, w.last, "a.yaml=BeingWritten")
	must(t, f.Close())
	w.until("a.yaml=half", "b.yaml=1")
}

// An ignore file that its writer has emptied and not filled yet, or that is gone for a
// moment, lets in nothing of what it leaves out.
func TestWatchWaitsForTheIgnoreFile(t *testing.T) {
	if !leases(t) {
		t.Log("this system does not say who has a file open for writing")
		return
	}
	for _, mode := range []Mode{Auto, Poll} {
		t.Run(string(mode), func(t *testing.T) {
			root := t.TempDir()
			put(t, "1", root, "a.yaml")
			put(t, "1", root, "drafts", "b.yaml")
			put(t, "drafts\n", root, IgnoreFile)
			age()
			w := start(t, root, ignoreBy(IgnoreRead), func(o *Options) {
				if o.Mode = mode; mode == Poll {
					o.FallbackScan = 20 * time.Millisecond
				}
			})
			wantFiles(t, w.last, "a.yaml=1")
			f, err := os.OpenFile(filepath.Join(root, IgnoreFile), inPlace, 0)
			must(t, err)
			for _, text := range []string{"2", "3", "4"} {
				time.Sleep(300 * time.Millisecond) // a watcher that does not ask would have read it
				put(t, text, root, "a.yaml")
				for !slices.Equal(contents(w.last), []string{"a.yaml=" + text}) {
					if w.next().Files.Len() != 1 {
						t.Fatalf("a half-written ignore file let in %v", contents(w.last))
					}
				}
			}
			_, err = f.WriteString("a.yaml\n")
			must(t, err)
			must(t, f.Close())
			w.until("drafts/b.yaml=1")
			if log := w.log.String(); strings.Contains(log, "no event for") {
				t.Errorf("the wait is told as a fault of the system:\n%s", log)
			}
		})
	}
}

// A writer that never ends is waited for as long as MaxOpen, and then there is a warning.
func TestWatchGivesUpOnAWriter(t *testing.T) {
	if !leases(t) {
		t.Log("this system does not say who has a file open for writing")
		return
	}
	root := t.TempDir()
	put(t, "old", root, "a.yaml")
	age()
	w := start(t, root, func(o *Options) { o.MaxOpen = 500 * time.Millisecond })
	f, err := os.OpenFile(filepath.Join(root, "a.yaml"), inPlace, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("half")
	must(t, err)
	w.until("a.yaml=half")
	if n := strings.Count(w.log.String(), "still has the file open"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, w.log)
	}
}

// Without leave for leases, and where a file is only read, nothing is held back.
func TestAReaderIsNoWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	put(t, "1", path)
	first, err := os.Open(path)
	must(t, err)
	defer first.Close()
	second, err := os.Open(path)
	must(t, err)
	defer second.Close()
	if openForWriting(second) {
		t.Error("a reader counts as a writer")
	}
}

// The lock of git is found where git keeps it, above the folder, too.
func TestWatchWaitsForGitAbove(t *testing.T) {
	for name, lay := range map[string]func(t *testing.T, base string) (root, git string){
		"above": func(_ *testing.T, base string) (root, git string) {
			return filepath.Join(base, "repo", "conf", "prod"), filepath.Join(base, "repo", ".git")
		},
		"worktree": func(t *testing.T, base string) (root, git string) {
			put(t, "gitdir: "+filepath.Join(base, "main", ".git", "worktrees", "w")+"\n", base, "w", ".git")
			return filepath.Join(base, "w", "conf"), filepath.Join(base, "main", ".git", "worktrees", "w")
		},
		"submodule": func(t *testing.T, base string) (root, git string) {
			put(t, "gitdir: ../.git/modules/sub\n", base, "sub", ".git")
			return filepath.Join(base, "sub"), filepath.Join(base, ".git", "modules", "sub")
		},
		"link": func(t *testing.T, base string) (root, git string) {
			put(t, "1", base, "repo", "conf", "b.yaml")
			relink(t, "repo/conf", base, "current")
			return filepath.Join(base, "current"), filepath.Join(base, "repo", ".git")
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, git := lay(t, t.TempDir())
			put(t, "1", root, "b.yaml")
			put(t, "old", root, "a.yaml")
			age()
			w := start(t, root)
			put(t, "", git, "index.lock")
			put(t, "half", root, "a.yaml")
			time.Sleep(500 * time.Millisecond) // a watcher that does not wait would have read it
			put(t, "whole", root, "a.yaml")
			put(t, "2", root, "b.yaml")
			must(t, os.Remove(filepath.Join(git, "index.lock")))
			w.next()
			wantFiles(t, w.last, "a.yaml=whole", "b.yaml=2")
		})
	}
}

// The .git of somebody else above the folder, as anybody may make one in /tmp, locks nothing.
func TestGitOfOthersIsNotUsed(t *testing.T) {
	if trusted(4711, 4712) || !trusted(4711, 4711) || !trusted(0, 4712) {
		t.Error("whose .git is used is wrong")
	}
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	base := t.TempDir()
	put(t, "", base, ".git", "index.lock")
	put(t, "1", base, "conf", "a.yaml")
	if !gitLocked(filepath.Join(base, "conf")) {
		t.Error("one's own lock is not seen")
	}
	must(t, os.Chown(filepath.Join(base, ".git"), 4711, 4711))
	if gitLocked(filepath.Join(base, "conf")) {
		t.Error("somebody else's lock is used")
	}
}

func BenchmarkLease(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "x"))
	must(b, err)
	must(b, f.Close())
	f, err = os.Open(f.Name())
	must(b, err)
	defer f.Close()
	for b.Loop() {
		openForWriting(f)
	}
}
