package store

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/watcher"
)

// treeOf makes a Tree of file contents by path.
func treeOf(files map[string]string) watcher.Tree {
	tree := watcher.Tree{Root: "conf", Noticed: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var all []watcher.File
	for path, text := range files {
		content := []byte(text)
		all = append(all, watcher.File{Path: path, Content: content, Hash: sha256.Sum256(content)})
	}
	tree.Files = watcher.FilesOf(all...)
	return tree
}

func newStore(t testing.TB, options Options) *Store {
	t.Helper()
	s, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func schemas() *schema.Set {
	set, err := schema.Load()
	if err != nil {
		panic(err)
	}
	return set
}

// route is an HTTPRoute that differs by path.
func route(name, path string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: %s
spec:
  parentRefs:
  - name: web
  rules:
  - matches:
    - path: {value: %s}
    backendRefs:
    - {name: shop, port: 8080}
`, name, path)
}

// summary is a Change in one line: +name=path of objects set, -name of those
// gone, and the codes of its problems.
func summary(c Change) string {
	var parts []string
	for _, o := range c.Set {
		text := "+" + o.Key.Name
		if r, ok := manifest.As[*api.HTTPRoute](o); ok {
			text += "=" + *r.Spec.Rules[0].Matches[0].Path.Value
		}
		parts = append(parts, text)
	}
	for _, key := range c.Gone {
		parts = append(parts, "-"+key.Name)
	}
	if c.Hold != "" {
		parts = append(parts, "HOLD")
	}
	for _, p := range c.Problems {
		parts = append(parts, p.Code)
	}
	return strings.Join(parts, " ")
}

func TestApply(t *testing.T) {
	a1, a2, b1 := route("a", "/1"), route("a", "/2"), route("b", "/1")
	broken := strings.Replace(route("a", "/9"), "rules:", "rulez:", 1)
	unreadable := "kind: [\n"
	type files = map[string]string
	for _, test := range []struct {
		name  string
		trees []files
		want  []string
	}{
		{"objects come, change and go",
			[]files{{"x.yaml": a1}, {"x.yaml": a2 + "---\n" + b1}, {"x.yaml": b1}, {"x.yaml": b1, "y.yaml": a1}},
			[]string{"+a=/1", "+a=/2 +b=/1", "-a", "+a=/1"}},
		{"comments, order and place are no change",
			[]files{{"x.yaml": a1 + "---\n" + b1}, {"x.yaml": "# c\n" + b1 + "---\n" + a1}, {"y.yaml": a1, "z.yaml": b1}},
			[]string{"+a=/1 +b=/1", "", ""}},
		{"a broken document keeps its object, its neighbour goes on",
			[]files{{"x.yaml": a1 + "---\n" + b1}, {"x.yaml": broken + "---\n" + route("b", "/2")}, {"x.yaml": a2 + "---\n" + b1}},
			[]string{"+a=/1 +b=/1", "+b=/2 LastGoodKept UnknownField", "+a=/2 +b=/1"}},
		{"an unreadable document keeps all that the file gave, until it is mended",
			[]files{{"x.yaml": a1 + "---\n" + b1}, {"x.yaml": unreadable}, {"x.yaml": b1}},
			[]string{"+a=/1 +b=/1", "LastGoodKept InvalidYAML", "-a"}},
		{"deleting a broken file deletes what was kept",
			[]files{{"x.yaml": a1, "y.yaml": b1}, {"x.yaml": unreadable, "y.yaml": b1}, {"y.yaml": b1}},
			[]string{"+a=/1 +b=/1", "LastGoodKept InvalidYAML", "-a"}},
		{"a sound definition elsewhere replaces a kept one, and stays when the file is mended",
			[]files{{"x.yaml": a1}, {"x.yaml": unreadable}, {"x.yaml": unreadable, "y.yaml": a2}, {"x.yaml": a1, "y.yaml": a2}},
			[]string{"+a=/1", "LastGoodKept InvalidYAML", "+a=/2 InvalidYAML", "Conflict"}},
		{"a broken newcomer gives nothing",
			[]files{{"x.yaml": broken}}, []string{"UnknownField"}},
		{"two definitions: the one that serves stays, the other takes over",
			[]files{{"y.yaml": a1}, {"x.yaml": a2, "y.yaml": a1}, {"x.yaml": a2}},
			[]string{"+a=/1", "Conflict", "+a=/2"}},
		{"two definitions at a cold start: the first path wins",
			[]files{{"x.yaml": a2, "y.yaml": a1}}, []string{"+a=/2 Conflict"}},
		{"two definitions in one file: the first wins, then the one that serves",
			[]files{{"x.yaml": a1 + "---\n" + a2}, {"x.yaml": a2}, {"x.yaml": a1 + "---\n" + a2}},
			[]string{"+a=/1 Conflict", "+a=/2", "Conflict"}},
		{"the winner may change",
			[]files{{"x.yaml": a1, "y.yaml": a1}, {"x.yaml": a2, "y.yaml": a1}},
			[]string{"+a=/1 Duplicate", "+a=/2 Conflict"}},
		{"an emptied folder is held", []files{{"x.yaml": a1}, {"x.yaml": "# nothing\n"}, {}, {"x.yaml": a1}},
			[]string{"+a=/1", "HOLD FolderEmptied", "HOLD FolderEmptied", ""}},
		{"an empty folder at the start is not", []files{{}, {"x.yaml": a1}}, []string{"", "+a=/1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t, Options{})
			for i, files := range test.trees {
				if got := summary(s.Apply(treeOf(files))); got != test.want[i] {
					t.Errorf("tree %d: got %q, want %q", i, got, test.want[i])
				}
			}
		})
	}
}
