package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fan makes directories of which each has k links to the next one.
func fan(t *testing.T, k int, elem ...string) {
	t.Helper()
	dir := filepath.Join(elem...)
	const levels = 9
	for i := range levels {
		put(t, "1", dir, fmt.Sprintf("z%02d", i), "x.yaml")
		for l := range k {
			if i+1 < levels {
				relink(t, fmt.Sprintf("../z%02d", i+1), dir, fmt.Sprintf("z%02d", i), fmt.Sprint("l", l))
			}
		}
	}
}

// names creates empty things in a directory.
func names(t *testing.T, n int, dir string, create func(path string) error) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	for i := range n {
		must(t, create(filepath.Join(dir, fmt.Sprintf("n%07d", i))))
	}
}

func mkdir(path string) error { return os.Mkdir(path, 0o755) }

func mkfile(path string) error { return os.WriteFile(path+".yaml", []byte("a: 1\n"), 0o600) }

// siege is an attack on the budgets of the folder, in a directory.
type siege struct {
	name   string
	attack func(t *testing.T, dir string)
	// reasons are those of its problems, one at least.
	reasons []SkipReason
}

func sieges() []siege {
	return []siege{
		{"fan", func(t *testing.T, dir string) { fan(t, 6, dir) }, []SkipReason{ReadElsewhere}},
		{"links", func(t *testing.T, dir string) {
			put(t, "1", dir, "real", "x.yaml")
			names(t, 300, dir, func(path string) error { return os.Symlink("real", path) })
		}, []SkipReason{ReadElsewhere}},
		{"neighbours", func(t *testing.T, dir string) {
			for _, team := range []string{"b", "c"} {
				names(t, 150, filepath.Join(dir, team), func(path string) error { return os.Symlink("../../"+team+"-team", path) })
			}
		}, []SkipReason{ReadElsewhere}},
		{"parents", func(t *testing.T, dir string) {
			names(t, 50, dir, func(path string) error { return os.Symlink("..", path) })
		}, []SkipReason{ReadElsewhere}},
		{"cross", func(t *testing.T, dir string) {
			fan(t, 4, dir)
			relink(t, "../../b-team/sub", dir, "z08", "b")
			relink(t, "z00", dir, "again")
		}, []SkipReason{ReadElsewhere}},
		{"directories", func(t *testing.T, dir string) { names(t, 300, dir, mkdir) }, []SkipReason{TreeTooLarge}},
		{"nested", func(t *testing.T, dir string) {
			for i := range 20 {
				names(t, 20, filepath.Join(dir, fmt.Sprint(i)), mkdir)
			}
		}, []SkipReason{TreeTooLarge}},
		{"deep", func(t *testing.T, dir string) {
			for range 100 {
				dir = filepath.Join(dir, "d")
			}
			put(t, "1", dir, "x.yaml")
		}, []SkipReason{TreeTooLarge}},
		{"files", func(t *testing.T, dir string) { names(t, 600, dir, mkfile) }, []SkipReason{TreeTooLarge}},
		{"file links", func(t *testing.T, dir string) {
			put(t, "1", dir, "x.yaml")
			names(t, 600, dir, func(path string) error { return os.Symlink("x.yaml", path+".yaml") })
		}, []SkipReason{TreeTooLarge}},
		{"bytes", func(t *testing.T, dir string) {
			put(t, strings.Repeat("#", 900), dir, "x.yaml")
			names(t, 30, dir, func(path string) error { return os.Symlink("x.yaml", path+".yaml") })
		}, []SkipReason{ReadElsewhere}},
		{"bytes of many", func(t *testing.T, dir string) {
			names(t, 30, dir, func(path string) error { return os.WriteFile(path+".yaml", make([]byte, 900), 0o600) })
		}, []SkipReason{TreeTooLarge}},
	}
}

// crowdLimits are small, so that an attack is.
func crowdLimits() Limits {
	return Limits{Dirs: 200, Files: 400, TreeBytes: 20_000}
}

// innocents are teams beside the one that attacks, before and after it by their names.
func innocents(t *testing.T, base string) (want map[string]bool) {
	t.Helper()
	want = map[string]bool{}
	for _, team := range []string{"0-team", "b-team", "c-team"} {
		for _, dir := range []string{".", "sub", "sub/deeper", "sub/other"} {
			put(t, "1", base, team, dir, "x.yaml")
			want[filepath.Join(team, dir, "x.yaml")] = true
		}
		put(t, "1", base, "."+team, "x.yaml")
		relink(t, "../."+team, base, team, "hidden")
		want[filepath.Join(team, "hidden", "x.yaml")] = true
	}
	return want
}

// Whatever one team does, the files of the others are all there: in a cold start, after it
// came while the folder was watched, and in what they edit, add and remove meanwhile.
func TestNoTeamCrowdsOutOthers(t *testing.T) {
	for _, layout := range []string{".", "teams"} {
		for _, attack := range sieges() {
			t.Run(layout+"/"+attack.name, func(t *testing.T) { testCrowd(t, layout, attack) })
		}
	}
}

func testCrowd(t *testing.T, layout string, attack siege) {
	root := t.TempDir()
	base := filepath.Join(root, layout)
	want := innocents(t, base)
	options := Options{Root: root, Limits: crowdLimits()}.withDefaults()
	r := newReader(options)
	looked := func(dirs where) Tree {
		t.Helper()
		at, place, err := openRoot(root)
		must(t, err)
		defer at.Close()
		if _, stale, err := r.look(at, place, dirs); err != nil || !stale {
			must(t, err)
		} else if _, stale, err = r.look(at, place, nil); err != nil || stale {
			t.Fatalf("a look at everything: %v, stale %v", err, stale)
		}
		tree, _ := r.tree(at, loading{})
		return tree
	}
	wantInnocent(t, layout, looked(nil), want, nil)
	attack.attack(t, filepath.Join(base, "a-team"))
	wantInnocent(t, layout, looked(nil), want, attack.reasons)
	cold := readAll(t, root, func(o *Options) { o.Limits = crowdLimits() })
	wantInnocent(t, layout, cold, want, attack.reasons)

	put(t, "2", base, "b-team", "sub", "new.yaml")
	put(t, "3", base, "b-team", "fresh", "new.yaml")
	must(t, os.Remove(filepath.Join(base, "b-team", "sub", "deeper", "x.yaml")))
	want["b-team/sub/new.yaml"], want["b-team/fresh/new.yaml"] = true, true
	delete(want, "b-team/sub/deeper/x.yaml")
	hints := where{}
	for id, w := range r.ways {
		for _, path := range w {
			if strings.Contains(path, "b-team") {
				hints[id] = nil
			}
		}
	}
	wantInnocent(t, layout, looked(hints), want, attack.reasons)
	wantInnocent(t, layout, looked(nil), want, attack.reasons)
}

// wantInnocent compares the files of the innocent teams, and wants problems of the
// attacker alone, not many, of which some have one of the reasons.
func wantInnocent(t *testing.T, layout string, tree Tree, want map[string]bool, reasons []SkipReason) {
	t.Helper()
	prefix := strings.TrimPrefix(layout+"/", "./")
	for file := range tree.Files.All() {
		name := strings.TrimPrefix(file.Path, prefix)
		if !want[name] && !strings.HasPrefix(name, "a-team/") {
			t.Errorf("there is %s", file.Path)
		}
	}
	for name := range want {
		if t.Failed() {
			break // one is enough to read
		}
		if _, there := tree.Files.Get(prefix + name); !there {
			t.Errorf("%s%s is missing", prefix, name)
		}
	}
	loud, found := 0, len(reasons) == 0
	for _, skip := range tree.Skipped {
		if !strings.HasPrefix(skip.Path, prefix+"a-team") {
			t.Errorf("problem at %s: %s", skip.Path, skip.Detail)
		}
		if skip.Detail != "" {
			loud++
			found = found || slices.Contains(reasons, skip.Reason)
		}
	}
	if !found || loud > 50 {
		t.Errorf("%d problems of %d, want a few, one of them %v", loud, len(tree.Skipped), reasons)
	}
}

// Over a limit, what grew keeps what it had, and what others have, edit and add is read while there is room. At a start,
// the largest part is left out. Nothing of the platform is.
func TestWhatGrewKeepsWhatItHad(t *testing.T) {
	root := t.TempDir()
	fill := func(dir string, from, to int) {
		for i := from; i < to; i++ {
			put(t, "1", root, dir, fmt.Sprint(i, ".yaml"))
		}
	}
	fill("platform", 0, 4)
	fill("teams/a", 0, 3)
	fill("teams/b", 0, 2)
	age()
	options := func(o *Options) {
		o.Limits.Files, o.Platform = 10, func(path string) bool { return strings.HasPrefix(path, "platform/") }
	}
	r, dirs, _ := known(t, root, options)
	want := func(tree Tree, a, b int, skipped ...string) {
		t.Helper()
		count := map[string]int{}
		for f := range tree.Files.All() {
			count[filepath.Dir(f.Path)]++
		}
		if count["platform"] != 4 || count["teams/a"] != a || count["teams/b"] != b {
			t.Errorf("files are %v, want %d of a and %d of b", count, a, b)
		}
		wantSkips(t, tree, skipped...)
	}
	known := []string{"teams/a=TreeTooLarge", "teams/a/0.yaml=TreeTooLarge", "teams/a/1.yaml=TreeTooLarge", "teams/a/2.yaml=TreeTooLarge"}
	fill("teams/a", 3, 8)
	want(again(t, r, where{dirs["teams/a/"]: nil}), 0, 2, known...)
	fill("teams/b", 2, 3)
	put(t, "2", root, "teams", "b", "0.yaml")
	tree := again(t, r, where{dirs["teams/b/"]: nil})
	want(tree, 0, 3, known...)
	wantWhole(t, tree, "teams/b/0.yaml", "2")
	fill("teams/b", 3, 4) // the folder is full: nobody adds anything
	want(again(t, r, nil), 0, 0, append(known, "teams/b=TreeTooLarge", "teams/b/0.yaml=TreeTooLarge", "teams/b/1.yaml=TreeTooLarge", "teams/b/2.yaml=TreeTooLarge")...)
	want(readAll(t, root, options), 0, 4, "teams/a=TreeTooLarge")
	for i := 2; i < 8; i++ {
		must(t, os.Remove(filepath.Join(root, "teams", "a", fmt.Sprint(i, ".yaml"))))
	}
	want(again(t, r, nil), 2, 4)

	fill("platform", 4, 11)
	_, err := Read(t.Context(), Options{Root: root, Limits: Limits{Files: 10}, Platform: r.platform})
	if err == nil || !strings.Contains(err.Error(), "more than 10 files") {
		t.Errorf("the platform has more than the limit: %v", err)
	}
	w := step(t, root)
	w.reader = r
	w.pass(true)
	if tree := (<-w.out).tree; len(tree.Skipped) != 14 || tree.Missing {
		t.Errorf("the folder is not as it was: %v, skipped %v", contents(tree), skips(tree))
	}
}
