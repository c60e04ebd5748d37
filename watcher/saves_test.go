package watcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The files of these tests: half of the new text is YAML, too.
const (
	oldText = "a: 1\n"
	newHead = "a: 1\nb: 2\n"
	newText = newHead + "c: 3\n"
)

// save is a way in which x.yaml comes from oldText to newText.
type save struct {
	row  string // what it does, as in the docs/design/reliability.md
	tool string // the program that does it, if any
	// pauses is true if the file is closed with half of its text in between, for as long as
	// the machine lets the writer wait: no lease tells of it.
	pauses bool
	do     func(t *testing.T, dir string)
}

// However a file is saved, each Tree has it whole, old or new. It comes by
// events alone, and (the patterns) by scans alone. The quiet time is long, for a busy machine.
func TestSaves(t *testing.T) {
	for _, s := range slices.Concat(patterns(), tools()) {
		t.Run(s.row+"/events", func(t *testing.T) { t.Parallel(); s.try(t, func(*Options) {}) })
		if s.tool == "" {
			t.Run(s.row+"/scans", func(t *testing.T) { t.Parallel(); s.try(t, func(o *Options) { o.Mode = Poll; scans(o) }) })
		}
	}
}

func (s save) try(t *testing.T, change func(*Options)) {
	if _, err := exec.LookPath(s.tool); s.tool != "" && err != nil {
		t.Skipf("%s is not on this machine: the system calls that it makes are tried instead", s.tool)
	}
	root := t.TempDir()
	put(t, oldText, root, "x.yaml")
	put(t, "keep", root, "keep.yaml")
	age()
	quiet := time.Second
	if s.pauses || !leases(t) {
		quiet = 5 * time.Second
	}
	w := start(t, root, func(o *Options) { o.Quiet, o.MaxAdd, o.MaxRemove = quiet, 2*time.Second, time.Hour }, change)
	s.do(t, root)
	for !slices.Equal(contents(w.last), []string{"keep.yaml=keep", "x.yaml=" + newText}) {
		w.next()
		wantWhole(t, w.last, "x.yaml", oldText, newText)
	}
}

// wantWhole wants the file to be there with one of the texts.
func wantWhole(t *testing.T, tree Tree, path string, texts ...string) {
	t.Helper()
	f, found := tree.Files.Get(path)
	if !found {
		t.Fatalf("a Tree without %s: %v", path, contents(tree))
	}
	if !slices.Contains(texts, string(f.Content)) {
		t.Fatalf("%s was seen as %q", path, f.Content)
	}
}

// slowly writes the new text in two halves, both of which are YAML.
func slowly(t *testing.T, flags int, elem ...string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(elem...), flags, 0o644)
	must(t, err)
	for _, half := range []string{newHead, newText[len(newHead):]} {
		_, err = f.WriteString(half)
		must(t, err)
		time.Sleep(50 * time.Millisecond)
	}
	must(t, f.Close())
}

const (
	inPlace = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	anew    = os.O_WRONLY | os.O_CREATE | os.O_EXCL
)

// patterns are the system calls of the tools, seen by strace.
func patterns() []save {
	rename := func(t *testing.T, dir, from, to string) {
		t.Helper()
		must(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	remove := func(t *testing.T, dir, name string) { t.Helper(); must(t, os.Remove(filepath.Join(dir, name))) }
	return []save{
		{row: "1 rewrite in place", do: func(t *testing.T, dir string) { put(t, newText, dir, "x.yaml") }},
		{row: "2 slow write", do: func(t *testing.T, dir string) { slowly(t, inPlace, dir, "x.yaml") }},
		{row: "2 write slower than the cap", pauses: true, do: func(t *testing.T, dir string) {
			must(t, os.Truncate(filepath.Join(dir, "x.yaml"), 0))
			for i := range newText {
				f, err := os.OpenFile(filepath.Join(dir, "x.yaml"), os.O_WRONLY|os.O_APPEND, 0)
				must(t, err)
				_, err = f.WriteString(newText[i : i+1])
				must(t, err)
				must(t, f.Close())
				time.Sleep(100 * time.Millisecond)
			}
		}},
		{row: "3 temporary file and rename", do: func(t *testing.T, dir string) { replaceFile(t, newText, dir, "x.yaml") }},
		{row: "4 rename from elsewhere", do: func(t *testing.T, dir string) {
			outside := t.TempDir()
			put(t, newText, outside, "y")
			must(t, os.Rename(filepath.Join(outside, "y"), filepath.Join(dir, "x.yaml")))
		}},
		{row: "5 vim", do: func(t *testing.T, dir string) {
			put(t, "", dir, ".x.yaml.swp")
			put(t, "", dir, "4913")
			remove(t, dir, "4913")
			rename(t, dir, "x.yaml", "x.yaml~")
			slowly(t, anew, dir, "x.yaml")
			must(t, os.Chmod(filepath.Join(dir, "x.yaml"), 0o644))
			remove(t, dir, "x.yaml~")
			remove(t, dir, ".x.yaml.swp")
		}},
		{row: "6 vim backupcopy=yes", do: func(t *testing.T, dir string) {
			put(t, oldText, dir, "x.yaml~")
			slowly(t, inPlace, dir, "x.yaml")
			remove(t, dir, "x.yaml~")
		}},
		{row: "7 emacs", do: func(t *testing.T, dir string) {
			must(t, os.Symlink("me@host.1", filepath.Join(dir, ".#x.yaml")))
			rename(t, dir, "x.yaml", "x.yaml~")
			slowly(t, anew, dir, "x.yaml")
			remove(t, dir, ".#x.yaml")
		}},
		{row: "9 sed", do: func(t *testing.T, dir string) {
			put(t, newText, dir, "sedQx12ab")
			rename(t, dir, "sedQx12ab", "x.yaml")
		}},
		{row: "10 rsync", do: func(t *testing.T, dir string) {
			put(t, newText, dir, ".x.yaml.Qx12ab")
			rename(t, dir, ".x.yaml.Qx12ab", "x.yaml")
		}},
		{row: "10 rsync --inplace", do: func(t *testing.T, dir string) {
			slowly(t, os.O_WRONLY, dir, "x.yaml")
			must(t, os.Truncate(filepath.Join(dir, "x.yaml"), int64(len(newText))))
		}},
		{row: "11 git, install: unlinked and made anew", do: func(t *testing.T, dir string) {
			remove(t, dir, "x.yaml")
			slowly(t, anew, dir, "x.yaml")
		}},
		{row: "14 hard link", do: func(t *testing.T, dir string) {
			put(t, newText, dir, "y")
			must(t, os.Link(filepath.Join(dir, "y"), filepath.Join(dir, "z")))
			rename(t, dir, "z", "x.yaml")
		}},
		{row: "14 ln -sf", do: func(t *testing.T, dir string) {
			put(t, newText, dir, ".y", "x.yaml")
			relink(t, ".y/x.yaml", dir, "x.yaml")
		}},
	}
}

// tools are the programs themselves.
func tools() []save {
	vim := func(settings string) []string {
		return []string{"vim", "-u", "NONE", "-N", "-es", "-c", settings, "-c", "normal Gob: 2", "-c", "normal oc: 3", "-c", "wq", "x.yaml"}
	}
	rows := []struct {
		row  string
		args []string
	}{
		{"vim", vim("set writebackup backupcopy=no")},
		{"vim with a copy", vim("set backup writebackup backupcopy=yes")},
		{"emacs", []string{"emacs", "-Q", "--batch", "x.yaml", "--eval",
			`(progn (setq backup-enable-predicate (lambda (_) t)) (goto-char (point-max)) (insert "b: 2\nc: 3\n") (save-buffer))`}},
		{"sed", []string{"sed", "-i", `$a b: 2\nc: 3`, "x.yaml"}},
		{"rsync", []string{"rsync", "-t", "new", "x.yaml"}},
		{"rsync in place", []string{"rsync", "--inplace", "new", "x.yaml"}},
		{"cp", []string{"cp", "new", "x.yaml"}},
		{"install", []string{"install", "-m", "644", "new", "x.yaml"}},
		{"mv", []string{"mv", "new", "x.yaml"}},
	}
	var saves []save
	for _, r := range rows {
		saves = append(saves, save{row: "the program " + r.row, tool: r.args[0], do: func(t *testing.T, dir string) {
			put(t, newText, dir, "new")
			run(t, dir, r.args...)
		}})
	}
	return saves
}

// run runs a program in dir, with nothing of the user's settings.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// git changes hundreds of files one by one; each Tree is of one commit.
func TestGitOnALiveTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on this machine")
	}
	root := t.TempDir()
	run(t, root, "git", "init", "-q")
	for _, rev := range []string{"1", "2"} {
		for i := range 200 {
			put(t, rev, root, string(rune('a'+i%5)), string(rune('a'+i/5%20)), rev+".yaml") // every other revision's name goes
			put(t, rev, root, string(rune('a'+i%5)), string(rune('A'+i/5%20))+".yaml")
		}
		run(t, root, "git", "add", ".")
		run(t, root, "git", "commit", "-qm", rev)
		run(t, root, "git", "tag", "r"+rev)
		run(t, root, "git", "rm", "-rq", ".")
	}
	run(t, root, "git", "reset", "-q", "--hard", "r1")
	age()
	w := start(t, root, func(o *Options) { o.Quiet, o.MaxAdd = time.Second, 20*time.Second })
	before := w.last.Files.Len()
	for _, step := range [][]string{{"checkout", "-q", "r2"}, {"reset", "-q", "--hard", "r1"}, {"checkout", "-q", "r2"}} {
		run(t, root, append([]string{"git"}, step...)...)
		rev := step[len(step)-1][1:]
		for w.next(); string(file(w.last, 0).Content) != rev; w.next() {
			wantOneRevision(t, w.last, before)
		}
		wantOneRevision(t, w.last, before)
	}
}

// wantOneRevision wants n files of one content.
func wantOneRevision(t *testing.T, tree Tree, n int) {
	t.Helper()
	if tree.Files.Len() != n {
		t.Fatalf("%d files, want %d", tree.Files.Len(), n)
	}
	for f := range tree.Files.All() {
		if string(f.Content) != string(file(tree, 0).Content) {
			t.Fatalf("a mixture: %s is of %q and %s of %q", file(tree, 0).Path, file(tree, 0).Content, f.Path, f.Content)
		}
	}
}

// A file that is written over and over is never seen half.
func TestRapidRewrites(t *testing.T) {
	root := t.TempDir()
	put(t, oldText, root, "x.yaml")
	age()
	w := start(t, root, func(o *Options) { o.Quiet, o.MaxAdd, o.MaxRemove = 3*time.Second, 50*time.Millisecond, time.Hour })
	for range 200 {
		put(t, newHead, root, "x.yaml")
		f, err := os.OpenFile(filepath.Join(root, "x.yaml"), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		time.Sleep(5 * time.Millisecond)
		_, err = f.WriteString(newText[len(newHead):])
		must(t, err)
		must(t, f.Close())
	}
	w.next()
	wantWhole(t, w.last, "x.yaml", newText)
}
