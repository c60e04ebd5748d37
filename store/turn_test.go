package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// hurried has an Apply stop after each object that is read; nothing newer ever waits.
var hurried = Turn{Length: 1, Newer: func() bool { return false }}

// teamRoute is a route of a team's namespace.
func teamRoute(team, name, path string) string {
	return strings.Replace(route(name, path), "metadata:\n", "metadata:\n  namespace: "+team+"\n", 1)
}

// manyRoutes are the documents of so many routes of a team.
func manyRoutes(team string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(teamRoute(team, fmt.Sprint("r", i), fmt.Sprint("/", i)) + "---\n")
	}
	return b.String()
}

// inOneList is one document with the objects of several.
func inOneList(documents string) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for document := range strings.SplitSeq(strings.TrimSuffix(documents, "---\n"), "---\n") {
		b.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n")
	}
	return b.String()
}

// TestAPartOfATreeDoesNotFreezeTheFolder replaces the only file by a large one of another namespace: the folder
// is not empty, although its first part is. While the large file is read, a newer Tree ends the reading.
func TestAPartOfATreeDoesNotFreezeTheFolder(t *testing.T) {
	s := newStore(t, Options{})
	s.Apply(treeOf(map[string]string{"teams/innocent/a.yaml": manyRoutes("innocent", 1)}))
	tree := treeOf(map[string]string{"teams/other/all.yaml": manyRoutes("other", 200)})
	if _, err := s.ApplyUntil(t.Context(), tree, Turn{Length: 1, Newer: func() bool { return true }}); !errors.Is(err, ErrNewer) {
		t.Errorf("with a newer Tree: %v", err)
	}
	change, err := s.ApplyUntil(t.Context(), tree, hurried)
	if err != nil || change.Hold != "" || len(change.Gone) != 1 || len(change.Set) != 200 || len(change.Waiting) > 0 {
		t.Errorf("%v, hold %q, %d objects set, %d gone, %d files wait", err, change.Hold, len(change.Set), len(change.Gone), len(change.Waiting))
	}
}

// TestASmallEditDoesNotWaitForALargeFile saves a small file beside what takes long to read: the
// small one is applied by the first Apply, and the rest by later ones.
func TestASmallEditDoesNotWaitForALargeFile(t *testing.T) {
	many := map[string]string{}
	for i := range 200 {
		many[fmt.Sprintf("teams/attacker/%d/%d.yaml", i%7, i)] = teamRoute("attacker", fmt.Sprint("r", i), "/")
	}
	for name, hostile := range map[string]map[string]string{
		"documents": {"teams/attacker/all.yaml": manyRoutes("attacker", 200)},
		"a list":    {"teams/attacker/all.yaml": inOneList(manyRoutes("attacker", 200))},
		"files":     many,
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"teams/innocent/a.yaml": manyRoutes("innocent", 1), "teams/innocent/b.yaml": ""}
			s := newStore(t, Options{})
			s.Apply(treeOf(files))
			for path, text := range hostile {
				files[path] = text
			}
			files["teams/innocent/a.yaml"] = teamRoute("innocent", "r0", "/new")
			files["teams/innocent/b.yaml"] = teamRoute("innocent", "more", "/")
			tree := treeOf(files)
			first, err := s.ApplyUntil(t.Context(), tree, hurried)
			if err != nil || len(first.Set) < 2 || len(first.Set) > 20 || first.Set[len(first.Set)-1].Key.Namespace != "innocent" || len(first.Waiting) == 0 {
				t.Fatalf("the first Apply: %v, %d objects, %d files wait", err, len(first.Set), len(first.Waiting))
			}
			objects := len(first.Set)
			for range 300 {
				next, err := s.ApplyUntil(t.Context(), tree, hurried)
				if err != nil {
					t.Fatal(err)
				}
				if objects += len(next.Set); len(next.Waiting) == 0 {
					break
				}
			}
			if objects != 202 {
				t.Errorf("%d objects in the end, not 202", objects)
			}
		})
	}
}

// TestANewerTreeEndsReading has a newer Tree come while a large file is read: what was read is
// kept, and the newer Tree is applied without the rest.
func TestANewerTreeEndsReading(t *testing.T) {
	s := newStore(t, Options{})
	files := map[string]string{"innocent.yaml": manyRoutes("innocent", 1)}
	s.Apply(treeOf(files))
	files["attacker.yaml"] = manyRoutes("attacker", 100)
	asked := 0
	newer := func() bool { asked++; return asked == 50 }
	if c, err := s.ApplyUntil(t.Context(), treeOf(files), Turn{Length: 1, Newer: newer}); !errors.Is(err, ErrNewer) || len(c.Set) > 0 {
		t.Fatalf("%v, %d objects; want the Apply to give way", err, len(c.Set))
	}
	files["innocent.yaml"] = teamRoute("innocent", "r0", "/new")
	c, err := s.ApplyUntil(t.Context(), treeOf(files), hurried)
	if err != nil || len(c.Set) != 1 || c.Set[0].Key.Namespace != "innocent" {
		t.Fatalf("%v, %d objects; want that of the small file", err, len(c.Set))
	}
	last, err := s.ApplyUntil(t.Context(), treeOf(files), hurried)
	if err != nil || len(last.Set) != 100 || last.Stats.Documents >= 100 {
		t.Errorf("%v, %d objects, of which %d were read now; want 100, and not all read anew", err, len(last.Set), last.Stats.Documents)
	}
}

// TestWhatBelongsTogetherIsAppliedTogether has small files wait for a large one that they may
// depend on, or that may depend on them.
func TestWhatBelongsTogetherIsAppliedTogether(t *testing.T) {
	declared := "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {gatefold.io/paths: %s/**}}\n---\n"
	platform := fmt.Sprintf(declared+declared, "shop", "shop", "blog", "blog")
	guarded := Options{ClusterPaths: tenancy.Globs{"platform.yaml"}}
	leading := strings.Replace(teamRoute("blog", "x", "/"), "{name: shop,", "{name: shop, namespace: shop,", 1)
	for name, test := range map[string]struct {
		options       Options
		before, after map[string]string
		waits         bool
	}{
		"an object that moves":           {before: map[string]string{"shop/a.yaml": teamRoute("shop", "r7", "/7")}, after: map[string]string{"shop/a.yaml": ""}, waits: true},
		"a file that is removed":         {before: map[string]string{"shop/a.yaml": teamRoute("shop", "r7", "/7")}, after: map[string]string{}, waits: true},
		"an object of the namespace":     {after: map[string]string{"other.yaml": teamRoute("shop", "x", "/")}, waits: true},
		"a file that waits for another":  {after: map[string]string{"a.yaml": teamRoute("shop", "x", "/") + "---\n" + teamRoute("mid", "x", "/"), "b.yaml": teamRoute("mid", "z", "/")}, waits: true},
		"an invalid object that waits":   {after: map[string]string{"a.yaml": teamRoute("shop", "x", "/") + "---\n" + teamRoute("mid", "x", "/"), "b.yaml": teamRoute("mid", "true", "/")}, waits: true},
		"another namespace":              {after: map[string]string{"blog/a.yaml": teamRoute("blog", "x", "/")}},
		"a reference to the namespace":   {before: map[string]string{"shop/all.yaml": teamRoute("shop", "r0", "/0")}, after: map[string]string{"blog/a.yaml": leading}, waits: true},
		"the namespace, in its file":     {options: guarded, before: map[string]string{"platform.yaml": platform}, after: map[string]string{"platform.yaml": platform, "shop/a.yaml": teamRoute("shop", "x", "/")}, waits: true},
		"another namespace, in its file": {options: guarded, before: map[string]string{"platform.yaml": platform}, after: map[string]string{"platform.yaml": platform, "blog/a.yaml": teamRoute("blog", "x", "/")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.options)
			files := map[string]string{"unchanged.yaml": teamRoute("unchanged", "x", "/")}
			for path, text := range test.before {
				files[path] = text
			}
			s.Apply(treeOf(files))
			for path := range test.before {
				delete(files, path)
			}
			for path, text := range test.after {
				files[path] = text
			}
			files["shop/all.yaml"] = manyRoutes("shop", 50) + "# blog and mid are words\n"
			c, err := s.ApplyUntil(t.Context(), treeOf(files), hurried)
			if err != nil || test.waits != (len(c.Waiting) == 0) || len(c.Gone) > 0 {
				t.Errorf("%v: %d objects are set, %q wait, gone are %v, problems %v", err, len(c.Set), c.Waiting, c.Gone, c.Problems)
			}
		})
	}
}

// TestInTurnsIsFresh edits a folder of two teams at random, and applies it in the smallest turns,
// which newer Trees interrupt at random. What the Changes add up to in the end must be what a new
// Store makes of the folder, and no object that is in it before and after is away between.
func TestInTurnsIsFresh(t *testing.T) {
	interrupted, postponed := 0, 0
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 7))
		f := &folder{random, map[string][]string{}, map[string]string{}, watcher.Files{}}
		s, held := newStore(t, Options{}), newHeld()
		turn := Turn{Length: 1, Newer: func() bool { return random.IntN(3) == 0 }}
		for range 40 {
			for range random.IntN(8) + 1 {
				f.edit()
			}
			if len(f.place) == 0 {
				continue
			}
			tree := ofTeams(f.fresh())
			fresh := newHeld()
			apply(t, fresh, newStore(t, Options{}).Apply(tree))
			before := maps.Clone(held.objects)
			for {
				c, err := s.ApplyUntil(t.Context(), tree, turn)
				apply(t, held, c)
				for key := range fresh.objects {
					if before[key] != nil && held.objects[key] == nil {
						t.Fatalf("seed %d: %v is away while files are read", seed, key)
					}
				}
				if err == nil && len(c.Waiting) == 0 {
					compare(t, held, fresh)
					break
				}
				if err == nil {
					postponed++
				} else if interrupted++; random.IntN(2) == 0 {
					break // the newer Tree takes over
				}
			}
		}
	}
	if interrupted == 0 || postponed == 0 {
		t.Errorf("%d Applies were interrupted, and %d left files for the next", interrupted, postponed)
	}
}

// ofTeams puts the objects of each directory into a namespace of its name.
func ofTeams(tree watcher.Tree) watcher.Tree {
	files := map[string]string{}
	for file := range tree.Files.All() {
		team, _, _ := strings.Cut(file.Path, "/")
		files[file.Path] = strings.ReplaceAll(string(file.Content), "metadata:\n", "metadata:\n  namespace: "+team+"\n")
	}
	return treeOf(files)
}

// TestWhatIsReadKeepsNoTree reads documents of all sorts, at once and in turns: of those that are read completely,
// nothing of the parser is left while others are read. (It takes more memory than the objects.)
func TestWhatIsReadKeepsNoTree(t *testing.T) {
	s := newStore(t, Options{})
	tree := treeOf(map[string]string{"a.yaml": manyRoutes("a", 20), "list.yaml": inOneList(manyRoutes("b", 20)), "broken.yaml": "kind: [", "other.yaml": "a: 1"})
	for _, length := range []time.Duration{0, 1} {
		edits, contents := s.sources.compare(tree)
		for _, e := range edits {
			e.after.split(contents[e.path], s.sources.documents, nil, nil)
		}
		readings := s.sources.toRead(edits)
		for len(readings) > 0 {
			s.sources.readFor(t.Context(), readings, length, func() {})
			readings = slices.DeleteFunc(readings, func(r *reading) bool {
				if r.document.result != nil && r.opened != nil {
					t.Errorf("the parser's tree of %q is kept", r.document.text)
				}
				return r.document.result != nil
			})
		}
	}
}
