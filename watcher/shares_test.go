package watcher

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is beyond a limit is taken from those that have most, at each level by itself.
func TestSharesAreEqual(t *testing.T) {
	for _, test := range []struct {
		limit        int64
		things, want string // NAME*COUNT
	}{
		{10, "a/*3 b/*4", "a/*3 b/*4"},
		{10, "a/*1000 b/*4", "a/*6 b/*4"},
		{10, "z/*1000 b/*4 c/*1", "b/*4 c/*1 z/*5"},
		{9, "a/*100 b/*100 c/*100", "a/*3 b/*3 c/*3"},
		{12, "t/a/*1000 t/b/*2 t/c/*2 p/*1", "p/*1 t/a/*7 t/b/*2 t/c/*2"},
		{12, "t/a/*1000 t/b/*1000 p/*1000", "p/*6 t/a/*3 t/b/*3"},
		{12, "t/*1000 t/b/*2", "t/*10 t/b/*2"},
	} {
		var queue shares[string]
		for thing := range strings.FieldsSeq(test.things) {
			var n int
			name, count, _ := strings.Cut(thing, "*")
			_, err := fmt.Sscan(count, &n)
			must(t, err)
			for range n {
				queue.push(name, 1, name)
			}
		}
		got := map[string]int{}
		for left := test.limit; left > 0; left-- {
			next, up, ok := queue.pop()
			if !ok {
				break
			}
			got[next.thing]++
			queue.charge(up, 1)
		}
		var words []string
		for _, name := range slices.Sorted(maps.Keys(got)) {
			words = append(words, fmt.Sprintf("%s*%d", name, got[name]))
		}
		if got := strings.Join(words, " "); got != test.want {
			t.Errorf("%d of %s: %s, want %s", test.limit, test.things, got, test.want)
		}
	}
}

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
		{"fan", func(t *testing.T, dir string) { fan(t, 6, dir) }, []SkipReason{TooManyLinks}},
		{"links", func(t *testing.T, dir string) {
			put(t, "1", dir, "real", "x.yaml")
			names(t, 300, dir, func(path string) error { return os.Symlink("real", path) })
		}, []SkipReason{TooManyLinks}},
		{"neighbours", func(t *testing.T, dir string) {
			for _, team := range []string{"b", "c"} {
				names(t, 300, filepath.Join(dir, team), func(path string) error { return os.Symlink("../../"+team+"-team", path) })
			}
		}, []SkipReason{TooManyLinks}},
		{"parents", func(t *testing.T, dir string) {
			names(t, 50, dir, func(path string) error { return os.Symlink("..", path) })
		}, []SkipReason{Unreadable}},
		{"cross", func(t *testing.T, dir string) {
			fan(t, 4, dir)
			relink(t, "../../b-team/sub", dir, "z08", "b")
			relink(t, "z00", dir, "again")
		}, []SkipReason{TooManyLinks}},
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
		}, []SkipReason{TreeTooLarge}},
	}
}

// crowdLimits are small, so that an attack is.
func crowdLimits() Limits {
	return Limits{Dirs: 200, Files: 400, TreeBytes: 20_000, Links: 1500}
}

// innocents are teams beside the one that attacks, before and after it by their names.
func innocents(t *testing.T, base string) (want map[string]bool) {
	t.Helper()
	want = map[string]bool{}
	for _, team := range []string{"0-team", "b-team", "c-team"} {
		for _, dir := range []string{".", "sub", "sub/deeper", "sub/other"} { // of which a link leads to sub
			put(t, "1", base, team, dir, "x.yaml")
			want[filepath.Join(team, dir, "x.yaml")] = true
		}
		put(t, "1", base, "."+team, "x.yaml")
		relink(t, "../."+team, base, team, "hidden")
		relink(t, "sub", base, team, "link")
		want[filepath.Join(team, "hidden", "x.yaml")] = true
		want[filepath.Join(team, "link", "x.yaml")] = true
		want[filepath.Join(team, "link", "deeper", "x.yaml")] = true
		want[filepath.Join(team, "link", "other", "x.yaml")] = true
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
	want["b-team/sub/new.yaml"], want["b-team/fresh/new.yaml"], want["b-team/link/new.yaml"] = true, true, true
	delete(want, "b-team/sub/deeper/x.yaml")
	delete(want, "b-team/link/deeper/x.yaml")
	hints := where{}
	for id, w := range r.ways {
		for _, path := range w.paths {
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
