package store

import (
	"testing"

	"github.com/gatefold/gatefold/watcher"
)

// TestABlankFileKeepsItsObjects: a file that is cut off, or not written yet, removes nothing, also over a restart. A file
// that says something without the object removes it, and so does the end of the file.
func TestABlankFileKeepsItsObjects(t *testing.T) {
	tree := func(a string) watcher.Tree { return treeOf(map[string]string{"a.yaml": a, "b.yaml": route("b", "/1")}) }
	both := route("a", "/1") + "---\n" + route("c", "/1")
	for name, blank := range map[string]string{"no byte": "", "white space": " \n\t\r\n", "a byte order mark": "\ufeff\n"} {
		for then, step := range map[string]struct {
			tree watcher.Tree
			want string
		}{
			"written again":        {tree(both), ""},
			"one is left":          {tree(route("a", "/2")), "+a=/2 -c"},
			"a comment":            {tree("# nothing\n"), "-a -c"},
			"an empty document":    {tree("---\n"), "-a -c"},
			"removed":              {treeOf(map[string]string{"b.yaml": route("b", "/1")}), "-a -c"},
			"moved":                {treeOf(map[string]string{"a.yaml": blank, "b.yaml": route("b", "/1"), "c.yaml": both}), ""},
			"another file, edited": {treeOf(map[string]string{"a.yaml": blank, "b.yaml": route("b", "/2")}), "+b=/2 FileEmptied"},
		} {
			s, saved := newStore(t, saving), ledger{}
			s.Apply(tree(both))
			s.Applied(nil)
			if got := summary(s.Apply(tree(blank))); got != "FileEmptied" {
				t.Errorf("%s: %q", name, got)
			}
			s.Applied(nil)
			saved.take(s)
			if got := summary(s.Apply(step.tree)); got != step.want {
				t.Errorf("%s, then %s: got %q, want %q", name, then, got, step.want)
			}
			again := saved.restart(t, saving)
			again.Apply(tree(blank))
			if got := summary(again.Apply(step.tree)); got != step.want {
				t.Errorf("%s, a restart, then %s: got %q, want %q", name, then, got, step.want)
			}
		}
	}
}

// TestABlankFileOfAllObjectsCanBeMeant: --allow-empty removes the objects of blank files, too.
func TestABlankFileOfAllObjectsCanBeMeant(t *testing.T) {
	s := newStore(t, Options{})
	s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1"), "b.yaml": route("b", "/1")}))
	if got := summary(s.Apply(treeOf(map[string]string{"a.yaml": "", "b.yaml": route("b", "/1")}))); got != "FileEmptied" {
		t.Error(got)
	}
	s.AllowEmpty()
	if got := summary(s.Apply(treeOf(map[string]string{"a.yaml": "", "b.yaml": ""}))); got != "-a -b" {
		t.Error(got)
	}
}
