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

// ignoreCases are patterns, and what of the paths they leave out. A path below a directory
// that is left out is left out, too.
func ignoreCases() []struct{ patterns, paths, out string } {
	return []struct{ patterns, paths, out string }{
		{"a.yaml", "a.yaml b.yaml d/a.yaml", "a.yaml d/a.yaml"},
		{"/a.yaml", "a.yaml d/a.yaml", "a.yaml"},
		{"d/a.yaml", "d/a.yaml e/d/a.yaml", "d/a.yaml"},
		{"drafts/", "drafts/a.yaml x/drafts/b.yaml drafts.yaml", "drafts/a.yaml x/drafts/b.yaml"},
		{"a.yaml/", "a.yaml b.yaml", ""},
		{"*_test.yaml", "a_test.yaml d/b_test.yaml c.yaml", "a_test.yaml d/b_test.yaml"},
		{"d/*", "d/a.yaml d/e/b.yaml c.yaml", "d/a.yaml d/e/b.yaml"},
		{"d/*.yaml", "d/a.yaml d/e/b.yaml", "d/a.yaml"},
		{"**/e", "d/e/a.yaml e/b.yaml d/f.yaml", "d/e/a.yaml e/b.yaml"},
		{"d/**", "d/a.yaml d/e/b.yaml c.yaml", "d/a.yaml d/e/b.yaml"},
		{"d/**/x.yaml", "d/x.yaml d/e/x.yaml d/e/f/x.yaml x.yaml", "d/x.yaml d/e/x.yaml d/e/f/x.yaml"},
		{"*.yaml\n!keep.yaml", "a.yaml keep.yaml d/keep.yaml", "a.yaml"},
		{"d/\n!d/keep.yaml", "d/keep.yaml d/a.yaml", "d/keep.yaml d/a.yaml"},
		{"d/*\n!d/keep.yaml", "d/keep.yaml d/a.yaml", "d/a.yaml"},
		{"!a.yaml\na.yaml", "a.yaml", "a.yaml"},
		{"# a.yaml\n\n  \nb.yaml  \r", "a.yaml b.yaml", "b.yaml"},
		{"\\#a.yaml\n\\!b.yaml", "#a.yaml !b.yaml", "#a.yaml !b.yaml"},
		{"[ab].yaml", "a.yaml b.yaml c.yaml", "a.yaml b.yaml"},
		{"?.yaml", "a.yaml bb.yaml", "a.yaml"},
		{"/", "a.yaml", ""},
	}
}

func TestIgnoreMatches(t *testing.T) {
	for _, test := range ignoreCases() {
		rules, err := parseIgnore(strings.Split(test.patterns, "\n"))
		must(t, err)
		var out []string
		for path := range strings.FieldsSeq(test.paths) {
			if leftOut(rules, path) {
				out = append(out, path)
			}
		}
		if got := strings.Join(out, " "); got != test.out {
			t.Errorf("%q leaves out %q, want %q", test.patterns, got, test.out)
		}
	}
}

// leftOut asks as a scan does: directory by directory.
func leftOut(rules ignoreRules, path string) bool {
	for i, c := range path {
		if c == '/' && rules.match(path[:i+1]) {
			return true
		}
	}
	return rules.match(path)
}

// The cases hold for git, too.
func TestIgnoreMatchesAsGitDoes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed, as in other tests of this package")
	}
	for _, test := range ignoreCases() {
		root := t.TempDir()
		run(t, root, "git", "init", "-q")
		put(t, test.patterns, root, ".gitignore")
		for path := range strings.FieldsSeq(test.paths) {
			put(t, "", root, path)
		}
		list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
		list.Dir = root
		text, err := list.Output()
		must(t, err)
		got := strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
		want := strings.Fields(test.out)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: git leaves out %q, want %q", test.patterns, got, want)
		}
	}
}

func TestIgnoreRefusesBadPatterns(t *testing.T) {
	for _, globs := range [][]string{{"a", "[b"}, slices.Repeat([]string{"a"}, maxIgnorePatterns+1)} {
		if err := CheckIgnore(globs); err == nil {
			t.Errorf("%d patterns are taken", len(globs))
		}
	}
	many := strings.Repeat("**/", 200) + "x"
	rules, err := parseIgnore([]string{many, strings.Repeat("*a", 2000)})
	must(t, err)
	rules.match(strings.Repeat("a/", 200) + strings.Repeat("a", 4000)) // it comes back soon
}

func ignoreBy(use IgnoreUse, globs ...string) func(*Options) {
	return func(o *Options) { o.Ignore = Ignore{Globs: globs, File: use} }
}

func TestReadLeavesOut(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"a.yaml", "b.yaml", "drafts/c.yaml", "drafts/deep/d.yaml", "sub/.gatefoldignore/x.yaml"} {
		put(t, "", root, path)
	}
	put(t, "drafts/\nb.*\n", root, IgnoreFile)
	wantFiles(t, readAll(t, root), "a.yaml=", "b.yaml=", "drafts/c.yaml=", "drafts/deep/d.yaml=")
	wantFiles(t, readAll(t, root, ignoreBy(IgnoreRead)), "a.yaml=")
	wantFiles(t, readAll(t, root, ignoreBy(IgnoreRead, "a.yaml", "b.yaml")))
	wantFiles(t, readAll(t, root, ignoreBy(IgnoreNotRead, "deep")), "a.yaml=", "b.yaml=", "drafts/c.yaml=")

	// What is left out counts for no limit.
	few := func(o *Options) { o.Limits = Limits{Files: 1, Dirs: 2} }
	tree := readAll(t, root, few, ignoreBy(IgnoreRead))
	wantFiles(t, tree, "a.yaml=")
	wantSkips(t, tree)

	tree = readAll(t, root, ignoreBy(IgnoreForbidden))
	wantFiles(t, tree, "a.yaml=", "b.yaml=", "drafts/c.yaml=", "drafts/deep/d.yaml=")
	wantSkips(t, tree, ".gatefoldignore=IgnoreFileNotUsed")
}

func TestReadTellsOfABadIgnoreFile(t *testing.T) {
	for _, test := range []struct {
		make func(name string)
		want SkipReason
	}{
		{func(name string) { put(t, "ok\n[b", name) }, InvalidIgnore},
		{func(name string) { put(t, strings.Repeat("#", maxIgnoreBytes+1), name) }, Unreadable},
		{func(name string) { must(t, os.Mkdir(name, 0o755)) }, Unreadable},
		{func(name string) { must(t, os.Symlink("/etc/hostname", name)) }, Unreadable},
	} {
		root := t.TempDir()
		put(t, "", root, "a.yaml")
		test.make(filepath.Join(root, IgnoreFile))
		tree := readAll(t, root, ignoreBy(IgnoreRead))
		wantFiles(t, tree, "a.yaml=")
		wantSkips(t, tree, ".gatefoldignore="+string(test.want))
	}
}

// An edit of the ignore file is an edit of the folder, by events and by scans.
func TestWatchFollowsTheIgnoreFile(t *testing.T) {
	for _, mode := range []Mode{Auto, Poll} {
		t.Run(string(mode), func(t *testing.T) {
			root := t.TempDir()
			put(t, "1", root, "a.yaml")
			put(t, "1", root, "drafts/b.yaml")
			w := start(t, root, ignoreBy(IgnoreRead), func(o *Options) {
				if o.Mode = mode; mode == Poll {
					o.FallbackScan = 20 * time.Millisecond
				}
			})
			w.until("a.yaml=1", "drafts/b.yaml=1")
			put(t, "drafts\n", root, IgnoreFile)
			w.until("a.yaml=1")
			put(t, "2", root, "drafts/b.yaml") // nobody asks
			put(t, "2", root, "a.yaml")
			w.until("a.yaml=2")
			replaceFile(t, "a.yaml\n", root, IgnoreFile)
			w.until("drafts/b.yaml=2")
			put(t, "[", root, IgnoreFile) // those of before stay in force
			for len(w.last.Skipped) == 0 {
				w.next()
			}
			wantFiles(t, w.last, "drafts/b.yaml=2")
			must(t, os.Remove(filepath.Join(root, IgnoreFile)))
			w.until("a.yaml=2", "drafts/b.yaml=2")
			wantSkips(t, w.last)
		})
	}
}
