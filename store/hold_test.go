package store

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

func TestHoldsNameTheWayOut(t *testing.T) {
	full, empty := treeOf(map[string]string{"x.yaml": route("a", "/1")}), treeOf(nil)
	missing := watcher.Tree{Root: "conf", Missing: true}
	for _, emptied := range []watcher.Tree{empty, missing, treeOf(map[string]string{"x.yaml": ""})} {
		s := newStore(t, Options{})
		s.Apply(full)
		c := s.Apply(emptied)
		if !strings.Contains(c.Hold, "gatefold reload --allow-empty") || len(c.Gone) > 0 || len(c.Problems) != 1 || c.Stats.Objects != 1 {
			t.Fatalf("%+v", c)
		}
		if p := c.Problems[0]; p.File != "conf" || p.Severity != manifest.Error || !strings.HasPrefix(c.Hold, p.Message+". Restore the f") {
			t.Errorf("%+v", p)
		}
		s.AllowEmpty()
		if got := summary(s.Apply(emptied)); got != "-a" {
			t.Errorf("allowed: %q", got)
		}
		if got := summary(s.Apply(emptied)); got != "" {
			t.Errorf("again: %q", got)
		}
		s.Apply(full)
		if got := summary(s.Apply(emptied)); !strings.HasPrefix(got, "HOLD") {
			t.Errorf("the permission is for once: %q", got)
		}
	}
}

func TestAllowEmptyIsForTheNextTreeOnly(t *testing.T) {
	full := treeOf(map[string]string{"x.yaml": route("a", "/1")})
	s := newStore(t, Options{})
	s.Apply(full)
	s.AllowEmpty()
	s.Apply(full)
	if got := summary(s.Apply(treeOf(nil))); !strings.HasPrefix(got, "HOLD") {
		t.Errorf("got %q", got)
	}
}

func TestAStartWithoutAFolderIsNoHold(t *testing.T) {
	s := newStore(t, Options{})
	if got := summary(s.Apply(watcher.Tree{Root: "conf", Missing: true})); got != "" {
		t.Errorf("got %q", got)
	}
}

// skipping adds a skipped file to a Tree.
func skipping(tree watcher.Tree, path string) watcher.Tree {
	tree.Skipped = append(tree.Skipped, watcher.Skip{Path: path, Reason: watcher.Unreadable, Detail: "permission denied"})
	return tree
}

func TestSkippedFilesKeepTheirObjects(t *testing.T) {
	s := newStore(t, Options{})
	a, b := route("a", "/1"), route("b", "/1")
	for _, step := range []struct {
		tree watcher.Tree
		want string
	}{
		{skipping(treeOf(nil), "new.yaml"), "Unreadable"},
		{treeOf(map[string]string{"x.yaml": a, "y.yaml": b}), "+a=/1 +b=/1"},
		{skipping(treeOf(map[string]string{"x.yaml": a}), "y.yaml"), "Unreadable"},
		{skipping(treeOf(nil), "y.yaml"), "-a Unreadable"},
		{skipping(treeOf(map[string]string{"x.yaml": route("b", "/2")}), "y.yaml"), "Conflict Unreadable"},
		{treeOf(map[string]string{"y.yaml": b}), ""},
	} {
		if got := summary(s.Apply(step.tree)); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
}

func TestKeptObjectsAreNamedSinceWhen(t *testing.T) {
	s := newStore(t, Options{})
	sound := treeOf(map[string]string{"x.yaml": route("a", "/1") + "---\n" + route("b", "/1")})
	broken := treeOf(map[string]string{"x.yaml": "a: ["})
	s.Apply(sound)
	s.Apply(broken)
	broken = treeOf(map[string]string{"x.yaml": "a: [["})
	broken.Noticed = broken.Noticed.AddDate(1, 0, 0)
	for _, p := range s.Apply(broken).Problems {
		if p.Code == "LastGoodKept" {
			want := "gatefold still serves the last valid version of HTTPRoute default/a, HTTPRoute default/b: x.yaml has no valid one since 2026-01-02T03:04:05Z"
			if p.Message != want {
				t.Errorf("got %q, want %q", p.Message, want)
			}
			return
		}
	}
	t.Error("nothing is kept")
}

func TestObjectsOfATreeAreLimited(t *testing.T) {
	s := newStore(t, Options{Limits: Limits{Objects: 2, Documents: 2}})
	one, two := route("a", "/1"), route("a", "/1")+"---\n"+route("b", "/1")
	three := two + "---\n" + route("c", "/1")
	if got := summary(s.Apply(treeOf(map[string]string{"x.yaml": two}))); got != "+a=/1 +b=/1" {
		t.Error(got)
	}
	if got := summary(s.Apply(treeOf(map[string]string{"x.yaml": two, "y.yaml": one}))); got != "HOLD TooManyObjects" {
		t.Error(got)
	}
	if got := summary(s.Apply(treeOf(map[string]string{"x.yaml": three}))); got != "LastGoodKept TooManyDocuments" {
		t.Error(got)
	}
	if got := summary(s.Apply(treeOf(map[string]string{"x.yaml": one}))); got != "-b" {
		t.Error(got)
	}
}

// TestAMoveThatBreaksKeepsTheLastGood moves objects to other files, broken by the same
// change: also of a kind that has no status, and beside what the new file gave before.
func TestAMoveThatBreaksKeepsTheLastGood(t *testing.T) {
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n"
	s := newStore(t, Options{})
	for i, step := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"old.yaml": service, "new.yaml": route("b", "/1")}, "+s +b=/1"},
		{map[string]string{"new.yaml": route("b", "/1") + "---\n" + strings.Replace(service, "80", "800000", 1)}, "LastGoodKept InvalidValue"},
		{map[string]string{"newer.yaml": strings.Replace(service, "80", "eighty", 1), "new.yaml": route("b", "/1")}, "LastGoodKept WrongType"},
		{map[string]string{"newest.yaml": "kind: [\n", "new.yaml": route("b", "/1")}, "-s InvalidYAML"},
	} {
		if got := summary(s.Apply(treeOf(step.files))); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}
