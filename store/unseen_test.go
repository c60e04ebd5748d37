package store

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// TestUnseenFilesCloseTheirNamespaces has files that are too large or may not be read, at a start, while gatefold runs, and
// after a restart with a saved state.
func TestUnseenFilesCloseTheirNamespaces(t *testing.T) {
	routes := map[string]string{"r.yaml": route("cart", "/cart") + "---\n" + in("shop", "late", "/")}
	skip := func(files map[string]string, path string, reason watcher.SkipReason) watcher.Tree {
		tree := treeOf(files)
		tree.Skipped = []watcher.Skip{{Path: path, Reason: reason, Detail: "no"}}
		return tree
	}
	closed := func(c Change) string {
		held := newHeld()
		apply(t, held, c)
		return closedRoutes(held)
	}
	for _, test := range []struct {
		path   string
		reason watcher.SkipReason
		want   string
	}{
		{"x.yaml", watcher.TooLarge, "cart"},
		{"x.json", watcher.Unreadable, "cart"},
		{"lost+found", watcher.Unreadable, ""},
		{"x.yaml", watcher.NotRegular, ""},
	} {
		c := newStore(t, Options{}).Apply(skip(routes, test.path, test.reason))
		if got := closed(c); got != test.want {
			t.Errorf("%s, %s: closed is %q", test.path, test.reason, got)
		}
		if said := strings.Contains(texts(c), "all of namespace default answers 500 until it can be read (HTTPRoute default/cart)"); said != (test.want != "") {
			t.Errorf("%s, %s: %s", test.path, test.reason, texts(c))
		}
	}
	s, saved := newStore(t, saving), ledger{}
	held := newHeld()
	apply(t, held, s.Apply(treeOf(routes)))
	later := map[string]string{"r.yaml": routes["r.yaml"] + "---\n" + route("new", "/new")}
	apply(t, held, s.Apply(skip(later, "x.yaml", watcher.TooLarge)))
	if got := closedRoutes(held); got != "" {
		t.Errorf("a running gatefold: closed is %q", got)
	}
	saved.take(s)
	if got := closed(saved.restart(t, saving).Apply(skip(later, "x.yaml", watcher.TooLarge))); got != "" {
		t.Errorf("with a saved state: closed is %q", got)
	}
	cold := newStore(t, Options{})
	held = newHeld()
	both := skip(routes, "x.yaml", watcher.TooLarge)
	both.Skipped = append(both.Skipped, watcher.Skip{Path: "z.yaml", Reason: watcher.Unreadable, Detail: "no"})
	apply(t, held, cold.Apply(both))
	apply(t, held, cold.Apply(skip(routes, "z.yaml", watcher.Unreadable)))
	if got := closedRoutes(held); got != "cart" {
		t.Errorf("after one of two files could be read: closed is %q", got)
	}
	apply(t, held, cold.Apply(treeOf(routes)))
	if got := closedRoutes(held); got != "" {
		t.Errorf("after the file could be read: closed is %q", got)
	}
}

// TestUnseenFilesOfOneTeam has such a file with path policies: its own namespace is closed, and no other.
func TestUnseenFilesOfOneTeam(t *testing.T) {
	cluster, err := tenancy.Parse("ns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tree := treeOf(map[string]string{
		"ns.yaml": space("a", "a/**") + "---\n" + space("b", "b/**"), "a/r.yaml": in("a", "cart", "/cart"), "b/r.yaml": in("b", "help", "/help"),
		"free.yaml": route("free", "/"),
	})
	tree.Skipped = []watcher.Skip{{Path: "a/x.yaml", Reason: watcher.TooLarge, Detail: "no"}}
	held := newHeld()
	apply(t, held, newStore(t, Options{ClusterPaths: cluster}).Apply(tree))
	if got := closedRoutes(held); got != "cart" {
		t.Errorf("closed is %q", got)
	}
}

// TestFilesOfTooManyDocumentsClose has a file of which no document is used.
func TestFilesOfTooManyDocumentsClose(t *testing.T) {
	c := newStore(t, Options{Limits: Limits{Documents: 3}}).Apply(treeOf(map[string]string{"r.yaml": route("cart", "/cart"), "x.yaml": strings.Repeat("a: 1\n---\n", 9)}))
	held := newHeld()
	apply(t, held, c)
	if got := closedRoutes(held); got != "cart" {
		t.Errorf("closed is %q: %s", got, texts(c))
	}
}

// TestLeftOutDirectoryCloses has a directory that a limit leaves out at a start: nobody knows what it would have protected.
func TestLeftOutDirectoryCloses(t *testing.T) {
	cluster, err := tenancy.Parse("ns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tree := treeOf(map[string]string{
		"ns.yaml": space("a", "teams/a/**, a.yaml") + "---\n" + space("b", "teams/b/**"), "a.yaml": in("a", "cart", "/cart"), "teams/b/r.yaml": in("b", "help", "/help"),
	})
	tree.Skipped = []watcher.Skip{{Path: "teams/a", Reason: watcher.TreeTooLarge, Detail: "no"}}
	held := newHeld()
	apply(t, held, newStore(t, Options{ClusterPaths: cluster}).Apply(tree))
	if got := closedRoutes(held); got != "cart" {
		t.Errorf("closed is %q", got)
	}
}

// TestReadElsewhereIsNoFile has a file that is read by another path from now on: what it defined is not kept beside that.
func TestReadElsewhereIsNoFile(t *testing.T) {
	s, held := newStore(t, Options{}), newHeld()
	apply(t, held, s.Apply(treeOf(map[string]string{"link/r.yaml": route("cart", "/cart"), "x.yaml": route("late", "/late")})))
	tree := treeOf(map[string]string{"real/r.yaml": route("cart", "/cart"), "real/x.yaml": route("late", "/late")})
	tree.Skipped = []watcher.Skip{
		{Path: "link", Reason: watcher.ReadElsewhere, Detail: "real"}, {Path: "x.yaml", Reason: watcher.ReadElsewhere, Detail: "real/x.yaml"},
	}
	apply(t, held, s.Apply(tree))
	tree.Files = treeOf(map[string]string{"real/r.yaml": route("cart", "/new"), "real/x.yaml": route("late", "/new")}).Files
	c := s.Apply(tree)
	if len(c.Set) != 2 || len(c.Gone) != 0 {
		t.Errorf("%d objects changed, %d are gone: %s", len(c.Set), len(c.Gone), texts(c))
	}
	for _, p := range c.Problems {
		if p.Severity != manifest.Warning || p.Code != string(watcher.ReadElsewhere) {
			t.Errorf("a problem: %+v", p)
		}
	}
}
