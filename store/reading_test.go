package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// after returns a function that reports a newer Tree after so many calls.
func after(calls int64) func() bool {
	var n atomic.Int64
	return func() bool { return n.Add(1) > calls }
}

// never reports no newer Tree.
func never() bool { return false }

// fencedTeams are the options of a folder in which each of the teams has a directory with its name, and the file
// platform.yaml that says so.
func fencedTeams(teams ...string) (Options, string) {
	var b strings.Builder
	for _, team := range teams {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {gatefold.io/paths: teams/%[1]s/**}}\n---\n", team)
	}
	return Options{ClusterPaths: tenancy.Globs{"platform.yaml"}}, b.String()
}

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

// TestAPartOfATreeDoesNotFreezeTheFolder has one team write more objects than allowed while another removes as many: the
// folder is not frozen, although its first part would be.
func TestAPartOfATreeDoesNotFreezeTheFolder(t *testing.T) {
	options, platform := fencedTeams("innocent", "other")
	options.Limits.Objects = 500
	s := newStore(t, options)
	s.Apply(treeOf(map[string]string{"platform.yaml": platform, "teams/other/all.yaml": manyRoutes("other", 450)}))
	many := strings.ReplaceAll(manyRoutes("other", 240), "value: /", "value: /new")
	tree := treeOf(map[string]string{"platform.yaml": platform, "teams/innocent/a.yaml": manyRoutes("innocent", 100), "teams/other/all.yaml": many})
	c, err := s.ApplyUntil(t.Context(), tree, after(600))
	if !errors.Is(err, ErrNewer) || c.Hold != "" || len(c.Set) > 0 {
		t.Errorf("with a newer Tree: %v, hold %q, %d objects set", err, c.Hold, len(c.Set))
	}
	c, err = s.ApplyUntil(t.Context(), tree, never)
	if err != nil || c.Hold != "" || len(c.Set) != 340 || len(c.Waiting) > 0 {
		t.Errorf("%v, hold %q, %d objects set, %d files wait", err, c.Hold, len(c.Set), len(c.Waiting))
	}
}

// TestASmallEditDoesNotWaitForALargeFile saves a small file beside what takes long to read, and then a newer Tree waits:
// the small file is applied, and the rest by the next Apply.
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
			options, platform := fencedTeams("innocent", "attacker")
			files := map[string]string{"platform.yaml": platform, "teams/innocent/a.yaml": manyRoutes("innocent", 1), "teams/innocent/b.yaml": ""}
			s := newStore(t, options)
			s.Apply(treeOf(files))
			for path, text := range hostile {
				files[path] = text
			}
			files["teams/innocent/a.yaml"] = teamRoute("innocent", "r0", "/new")
			files["teams/innocent/b.yaml"] = teamRoute("innocent", "more", "/")
			tree := treeOf(files)
			first, err := s.ApplyUntil(t.Context(), tree, after(20))
			for range 10 { // one of the cores may have read nothing
				if errors.Is(err, ErrNewer) {
					first, err = s.ApplyUntil(t.Context(), tree, after(20))
				}
			}
			if err != nil || len(first.Set) != 2 || first.Set[1].Key.Namespace != "innocent" || len(first.Waiting) == 0 {
				t.Fatalf("the first Apply: %v, %d objects, %d files wait", err, len(first.Set), len(first.Waiting))
			}
			next, err := s.ApplyUntil(t.Context(), tree, never)
			if err != nil || len(next.Set) != 200 || len(next.Waiting) > 0 {
				t.Errorf("then: %v, %d objects, %d files wait", err, len(next.Set), len(next.Waiting))
			}
		})
	}
}

// TestANewerTreeEndsReading has a newer Tree come while a large file is read. Without path policies nothing is applied.
// What was read is kept.
func TestANewerTreeEndsReading(t *testing.T) {
	s := newStore(t, Options{})
	files := map[string]string{"innocent.yaml": manyRoutes("innocent", 1)}
	s.Apply(treeOf(files))
	files["attacker.yaml"] = manyRoutes("attacker", 100)
	files["innocent.yaml"] = teamRoute("innocent", "r0", "/new")
	c, err := s.ApplyUntil(t.Context(), treeOf(files), after(50))
	if !errors.Is(err, ErrNewer) || len(c.Set) > 0 {
		t.Fatalf("%v, %d objects; want the Apply to give way", err, len(c.Set))
	}
	last, err := s.ApplyUntil(t.Context(), treeOf(files), never)
	if err != nil || len(last.Set) != 101 || last.Stats.Documents == 0 || last.Stats.Documents >= 100 {
		t.Errorf("%v, %d objects, of which %d were read now; want 101, and not all read anew", err, len(last.Set), last.Stats.Documents)
	}
}

// TestWhatBelongsTogetherIsAppliedTogether has small files wait for a large one of namespace shop.
func TestWhatBelongsTogetherIsAppliedTogether(t *testing.T) {
	options, platform := fencedTeams("shop", "blog")
	platform = strings.ReplaceAll(platform, "teams/blog/**", `"teams/blog/**,teams/both.yaml"`)
	platform = strings.ReplaceAll(platform, "teams/shop/**", `"teams/shop/**,teams/both.yaml"`)
	for name, test := range map[string]struct {
		options       Options
		before, after map[string]string
		waits         bool
	}{
		"without path policies":  {before: map[string]string{"a.yaml": teamRoute("shop", "r7", "/7")}, after: map[string]string{"a.yaml": ""}, waits: true},
		"an object that moves":   {options: options, before: map[string]string{"teams/shop/a.yaml": teamRoute("shop", "r7", "/7")}, after: map[string]string{"teams/shop/a.yaml": ""}, waits: true},
		"a file that is removed": {options: options, before: map[string]string{"teams/shop/a.yaml": teamRoute("shop", "r7", "/7")}, waits: true},
		"a file of both":         {options: options, after: map[string]string{"teams/blog/a.yaml": teamRoute("blog", "x", "/"), "teams/both.yaml": teamRoute("blog", "y", "/")}, waits: true},
		"cluster paths":          {options: options, after: map[string]string{"teams/blog/a.yaml": teamRoute("blog", "x", "/"), "platform.yaml": platform + teamRoute("blog", "y", "/")}, waits: true},
		"another namespace":      {options: options, after: map[string]string{"teams/blog/a.yaml": teamRoute("blog", "x", "/")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.options)
			files := map[string]string{"platform.yaml": platform}
			maps.Copy(files, test.before)
			s.Apply(treeOf(files))
			for path := range test.before {
				delete(files, path)
			}
			maps.Copy(files, test.after)
			files["teams/shop/all.yaml"] = manyRoutes("shop", 200)
			c, err := s.ApplyUntil(t.Context(), treeOf(files), after(20))
			for range 10 {
				if errors.Is(err, ErrNewer) && !test.waits { // one of the cores may have read nothing
					c, err = s.ApplyUntil(t.Context(), treeOf(files), after(20))
				}
			}
			if test.waits != errors.Is(err, ErrNewer) || !test.waits && len(c.Set) != 1 || len(c.Gone) > 0 {
				t.Errorf("%v: %d objects are set, %q wait, gone are %v, problems %v", err, len(c.Set), c.Waiting, c.Gone, c.Problems)
			}
		})
	}
}

// TestInPartsIsFresh edits a folder of two teams at random, and applies it while newer Trees interrupt at random. What the Changes add up to in the end must be what a new
// Store makes of the folder, and no object that is in it before and after is away between.
func TestInPartsIsFresh(t *testing.T) {
	interrupted, postponed := 0, 0
	options, platform := fencedTeams("d0", "d1")
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 7))
		f := &folder{random, map[string][]string{}, map[string]string{}, watcher.Files{}}
		s, held := newStore(t, options), newHeld()
		for range 40 {
			for range random.IntN(8) + 1 {
				f.edit()
			}
			if len(f.place) == 0 {
				continue
			}
			tree := ofTeams(f.fresh(), platform)
			fresh := newHeld()
			apply(t, fresh, newStore(t, options).Apply(tree))
			before := maps.Clone(held.objects)
			for {
				c, err := s.ApplyUntil(t.Context(), tree, after(random.Int64N(40)))
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

// ofTeams puts the objects of each directory into a namespace of its name, and the directory below teams.
func ofTeams(tree watcher.Tree, platform string) watcher.Tree {
	files := map[string]string{"platform.yaml": platform}
	for file := range tree.Files.All() {
		team, _, _ := strings.Cut(file.Path, "/")
		files["teams/"+file.Path] = strings.ReplaceAll(string(file.Content), "metadata:\n", "metadata:\n  namespace: "+team+"\n")
	}
	return treeOf(files)
}

// TestWhatIsReadKeepsNoTree reads documents of all sorts, at once and in parts: nothing of the parser is left between two Applies. (It takes more memory than the objects.)
func TestWhatIsReadKeepsNoTree(t *testing.T) {
	s := newStore(t, Options{})
	tree := treeOf(map[string]string{"a.yaml": manyRoutes("a", 20), "list.yaml": inOneList(manyRoutes("b", 20)), "broken.yaml": "kind: [", "other.yaml": "a: 1"})
	for _, calls := range []int64{5, 1000} {
		edits, contents := s.sources.compare(tree)
		for _, e := range edits {
			e.after.split(contents[e.path], s.sources.documents, nil, nil)
		}
		readings := toRead(edits)
		s.sources.readUntil(after(calls), readings)
		for _, r := range readings {
			if r.opened != nil {
				t.Errorf("the parser's tree of %q is kept", r.document.text)
			}
		}
	}
}
