package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// ledger adds up what a Store gives to be saved.
type ledger map[manifest.Key]Saved

func (l ledger) take(s *Store) {
	for _, saved := range s.Unsaved() {
		l[saved.Key] = saved
		if saved.Path == "" {
			delete(l, saved.Key)
		}
	}
}

// restart returns a new Store that begins with what was saved.
func (l ledger) restart(t testing.TB, options Options) *Store {
	t.Helper()
	s := newStore(t, options)
	var all []Saved
	for _, saved := range l {
		all = append(all, saved)
	}
	if bad := s.Restore(all, true); len(bad) > 0 {
		t.Fatalf("cannot be used: %v", bad)
	}
	return s
}

var saving = Options{Save: true}

// shown is all that a journal would hold.
func shown(t *testing.T, all []Saved) string {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRestartGoesOn restarts between the last two Trees: what the last one comes
// to must be as it were without. The Change of a restart tells of all.
func TestRestartGoesOn(t *testing.T) {
	a1, a2, b1 := route("a", "/1"), route("a", "/2"), route("b", "/1")
	broken := strings.Replace(route("a", "/9"), "rules:", "rulez:", 1)
	two := a1 + "---\n" + b1
	tree := func(files ...string) watcher.Tree {
		all := map[string]string{}
		for i := 0; i < len(files); i += 2 {
			all[files[i]] = files[i+1]
		}
		return treeOf(all)
	}
	for _, test := range []struct {
		name  string
		trees []watcher.Tree
		want  string // of the last, after a restart
	}{
		{"nothing changed", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", two)}, "+a=/1 +b=/1"},
		{"edited meanwhile", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", a2)}, "+a=/2 -b"},
		{"broken meanwhile", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", broken+"---\n"+b1)}, "+a=/1 +b=/1 LastGoodKept UnknownField"},
		{"broken before", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", "a: ["), tree("x.yaml", "a: [")}, "+a=/1 +b=/1 LastGoodKept InvalidYAML"},
		{"half edited while broken", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", broken+"---\n"+route("b", "/2")), tree("x.yaml", "a: [")}, "+a=/1 +b=/2 LastGoodKept InvalidYAML"},
		{"mended meanwhile", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", "a: ["), tree("x.yaml", a2)}, "+a=/2 -b"},
		{"a broken file deleted meanwhile", []watcher.Tree{tree("x.yaml", a1, "y.yaml", b1), tree("x.yaml", "a: [", "y.yaml", b1), tree("y.yaml", b1)}, "+b=/1 -a"},
		{"a file deleted meanwhile", []watcher.Tree{tree("x.yaml", a1, "y.yaml", b1), tree("y.yaml", b1)}, "+b=/1 -a"},
		{"an unreadable file", []watcher.Tree{tree("x.yaml", a1, "y.yaml", b1), skipping(tree("x.yaml", a1), "y.yaml")}, "+a=/1 +b=/1 Unreadable"},
		{"unreadable after it broke", []watcher.Tree{tree("x.yaml", a1, "y.yaml", b1), tree("x.yaml", a1, "y.yaml", "a: ["), skipping(tree("x.yaml", a1), "y.yaml")}, "+a=/1 +b=/1 Unreadable LastGoodKept"},
		{"the twin that served stays", []watcher.Tree{tree("y.yaml", a1), tree("x.yaml", a2, "y.yaml", a1), tree("x.yaml", a2, "y.yaml", a1)}, "+a=/1 Conflict"},
		{"of twins in one file, too", []watcher.Tree{tree("x.yaml", a2), tree("x.yaml", a1+"---\n"+a2), tree("x.yaml", a1+"---\n"+a2)}, "+a=/2 Conflict"},
		{"a twin came meanwhile", []watcher.Tree{tree("y.yaml", a1), tree("x.yaml", a2, "y.yaml", a1)}, "+a=/1 Conflict"},
		{"moved to another file", []watcher.Tree{tree("y.yaml", a1), tree("x.yaml", a1), tree("x.yaml", "a: [")}, "+a=/1 LastGoodKept InvalidYAML"},
		{"items of a list", []watcher.Tree{tree("x.yaml", listOf(a1, b1)), tree("x.yaml", listOf(broken, route("b", "/2"))), tree("x.yaml", "a: [")}, "+a=/1 +b=/2 LastGoodKept InvalidYAML"},
		{"an empty folder", []watcher.Tree{tree("x.yaml", two), tree()}, "+a=/1 +b=/1 HOLD FolderEmptied"},
		{"a missing folder", []watcher.Tree{tree("x.yaml", two), {Root: "conf", Missing: true}}, "+a=/1 +b=/1 HOLD FolderMissing"},
		{"a missing folder, beside what was kept", []watcher.Tree{tree("x.yaml", two), tree("x.yaml", "a: ["), {Root: "conf", Missing: true}}, "+a=/1 +b=/1 HOLD FolderMissing LastGoodKept"},
	} {
		t.Run(test.name, func(t *testing.T) {
			warm, saved := newStore(t, saving), ledger{}
			last := test.trees[len(test.trees)-1]
			for _, tree := range test.trees[:len(test.trees)-1] {
				warm.Apply(tree)
				saved.take(warm)
			}
			again := saved.restart(t, saving)
			got, want := again.Apply(last), warm.Apply(last)
			if summary(got) != test.want {
				t.Errorf("got %q, want %q", summary(got), test.want)
			}
			want.Problems = slices.DeleteFunc(want.Problems, func(p manifest.Problem) bool { // a text that cannot be read any more is forgotten
				return p.Code == "InvalidYAML" && !strings.Contains(test.want, p.Code)
			})
			for i := range want.Problems {
				if want.Problems[i].Code == "Unreadable" {
					want.Problems[i].Hint = got.Problems[i].Hint
				}
			}
			if fmt.Sprint(got.Problems) != fmt.Sprint(want.Problems) {
				t.Errorf("problems\n%v\nwithout a restart\n%v", got.Problems, want.Problems)
			}
			warm.Unsaved()
			again.Unsaved()
			if a, b := shown(t, again.Saved()), shown(t, warm.Saved()); a != b {
				t.Errorf("saved is\n%s\nwithout a restart\n%s", a, b)
			}
			if again.Apply(last); len(again.Unsaved()) > 0 {
				t.Error("the same Tree again changes what is saved")
			}
		})
	}
}

func listOf(documents ...string) string {
	text := "apiVersion: v1\nkind: List\nitems:\n"
	for _, d := range documents {
		text += "- " + strings.ReplaceAll(strings.TrimSuffix(d, "\n"), "\n", "\n  ") + "\n"
	}
	return text
}

// A hold after a restart tells of what serves once, and ends as every hold does.
func TestAHoldAfterARestartEnds(t *testing.T) {
	full := treeOf(map[string]string{"x.yaml": route("a", "/1")})
	missing := watcher.Tree{Root: "conf", Missing: true}
	warm, saved := newStore(t, saving), ledger{}
	warm.Apply(full)
	saved.take(warm)
	s := saved.restart(t, saving)
	for i, want := range []string{"+a=/1 HOLD FolderMissing", "HOLD FolderMissing"} {
		if got := summary(s.Apply(missing)); got != want {
			t.Errorf("missing, %d: %q, want %q", i, got, want)
		}
	}
	if got := summary(s.Apply(full)); got != "" {
		t.Errorf("documents return: %q", got)
	}
	s = saved.restart(t, saving)
	s.Apply(missing)
	s.AllowEmpty()
	if got := summary(s.Apply(missing)); got != "-a" {
		t.Errorf("allowed: %q", got)
	}
	if saved.take(s); len(saved) > 0 {
		t.Errorf("still saved: %v", saved)
	}
}

// TestRestartAtRandom edits and breaks a folder at random and restarts at random:
// the Store must not differ from one that never was restarted.
func TestRestartAtRandom(t *testing.T) {
	for seed := range uint64(6) {
		f := &folder{rand.New(rand.NewPCG(seed, 2)), map[string][]string{}, map[string]string{}, watcher.Files{}}
		warm, other, saved := newStore(t, saving), newStore(t, saving), ledger{}
		held, heldByOther, invalid := newHeld(), newHeld(), 0
		for range 60 {
			f.edit()
			tree := f.tree()
			if n := tree.Files.Len(); n > 0 && f.random.IntN(2) == 0 {
				broken := slices.Collect(tree.Files.All())[f.random.IntN(n)]
				broken.Content = append([]byte("a: [\n---\n"), broken.Content[len(broken.Content)/2:]...)
				broken.Hash[0]++
				tree.Files = tree.Files.With([]watcher.File{broken}, nil)
			} else if n > 0 {
				broken := slices.Collect(tree.Files.All())[f.random.IntN(n)]
				broken.Content = bytes.ReplaceAll(broken.Content, []byte("rules:"), []byte("rulez:"))
				broken.Hash[0] += 2
				tree.Files = tree.Files.With([]watcher.File{broken}, nil)
			}
			var restored []*manifest.Object
			if f.random.IntN(3) == 0 {
				other, heldByOther = saved.restart(t, saving), newHeld()
				restored = other.Restored()
			}
			apply(t, held, warm.Apply(tree))
			change := other.Apply(tree)
			if restored != nil {
				change.Gone = goesOnFrom(t, restored, change)
			}
			apply(t, heldByOther, change)
			compare(t, heldByOther, held)
			invalid += len(held.invalid)
			saved.take(other)
		}
		if invalid == 0 {
			t.Errorf("seed %d has no object that is invalid", seed)
		}
	}
}

// goesOnFrom checks that the first Change after a restart tells of each restored object
// whether it serves. It gives what is gone beside those.
func goesOnFrom(t *testing.T, restored []*manifest.Object, first Change) (gone []manifest.Key) {
	t.Helper()
	told := map[manifest.Key]bool{}
	for _, o := range first.Set {
		told[o.Key] = true
	}
	gone = slices.Clone(first.Gone)
	for _, o := range restored {
		i := slices.Index(gone, o.Key)
		if (i >= 0) == told[o.Key] {
			t.Fatalf("%v was restored; it is set: %v, and gone: %v", o.Key, told[o.Key], i >= 0)
		}
		if i >= 0 {
			gone = slices.Delete(gone, i, i+1)
		}
	}
	return gone
}

// TestOnlyWhatChangesIsSaved counts, in a file of many documents.
func TestOnlyWhatChangesIsSaved(t *testing.T) {
	text := ""
	for i := range 300 {
		text += "---\n" + route(fmt.Sprint("r", i), "/1")
	}
	s := newStore(t, saving)
	for _, step := range []struct {
		text string
		want int
	}{
		{text, 300}, {text, 0}, {"# note\n" + text, 0},
		{strings.Replace(text, "value: /1", "value: /2", 1), 1},
		{text[:strings.LastIndex(text, "---")], 2},
	} {
		s.Apply(treeOf(map[string]string{"x.yaml": step.text}))
		if got := len(s.Unsaved()); got != step.want {
			t.Errorf("%d are saved, want %d", got, step.want)
		}
	}
	unasked := newStore(t, Options{})
	unasked.Apply(treeOf(map[string]string{"x.yaml": text}))
	if len(unasked.Unsaved()) > 0 {
		t.Error("nobody asked for it")
	}
}

const hush = "c2VjcmV0LXdvcmQ="

func secret(name string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\ndata: {word: " + hush + "}\n"
}

// hushed wants no Secret's content.
func (l ledger) hushed(t *testing.T) {
	t.Helper()
	for _, saved := range l {
		if strings.Contains(string(saved.Text), hush) {
			t.Errorf("saved is %s", saved.Text)
		}
	}
}

// No Secret and no user of a policy is saved, however it is written, unless that is asked for.
func TestSecretsAreNotSaved(t *testing.T) {
	files := map[string]string{
		"a.yaml": secret("alone"),
		"b.yaml": listOf(secret("listed"), route("b", "/1")),
		"c.yaml": strings.ReplaceAll("# "+secret("comment"), "\n", "\n# ") + "\n" + route("c", "/1"),
		"d.yaml": listOf(strings.Replace(secret("broken"), "data:", "dada:", 1), route("d", "/1")),
		"e.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"json"},"data":{"word":"` + hush + `"}}`,
		"f.yaml": route("f", "/1") + "---\n" + strings.Replace(secret("encoded"), "Secret", `"\u0053ecret"`, 1),
		"h.yaml": "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: users}\nspec: {basicAuth: {users: [\"alice:" + hush + "\"]}}\n",
		"g.yaml": strings.Replace(route("g", "/1"), "spec:", "x: {kind: Secret, data: {word: "+hush+"}}\nspec:", 1),
	}
	s, saved := newStore(t, saving), ledger{}
	s.Apply(treeOf(files))
	saved.take(s)
	saved.hushed(t)
	if again := saved.restart(t, saving); summary(again.Apply(watcher.Tree{Missing: true})) != "HOLD FolderMissing" {
		t.Error("a snapshot without its Secrets is served")
	} else if got := summary(again.Apply(treeOf(files))); !strings.HasPrefix(got, "+alone +encoded +json +listed +users +b=/1 +c=/1 +d=/1 +f=/1") {
		t.Errorf("got %q", got)
	}

	all := Options{Save: true, SaveSecrets: true}
	s, saved = newStore(t, all), ledger{}
	s.Apply(treeOf(files))
	saved.take(s)
	again := saved.restart(t, all)
	if got := summary(again.Apply(watcher.Tree{Missing: true})); got != "+alone +encoded +json +listed +users +b=/1 +c=/1 +d=/1 +f=/1 HOLD FolderMissing" {
		t.Errorf("with Secrets: %q", got)
	}
	again = saved.restart(t, saving) // Secrets that were saved once are not saved again
	clear(saved)
	for _, one := range again.Saved() {
		saved[one.Key] = one
	}
	saved.hushed(t)
}

// TestSavedIsReadAsItWas saves and restores all valid examples of the Gateway
// API, in files and in lists: the objects must have the same content.
func TestSavedIsReadAsItWas(t *testing.T) {
	found, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(found) < 5 {
		t.Fatal(found, err)
	}
	files := map[string]string{}
	for i, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprint(i, ".yaml")] = string(text)
		var parts []string
		for _, p := range splitDocuments(text) {
			parts = append(parts, strings.TrimLeft(strings.TrimPrefix(string(p.text), "---\n"), "\n"))
		}
		files[fmt.Sprint(i, "-list.yaml")] = strings.ReplaceAll(listOf(parts...), "name: ", "name: l")
	}
	whole := Options{Save: true, SaveSecrets: true} // without its Secrets a missing folder is told nothing
	for _, sound := range []bool{true, false} {
		s := newStore(t, whole)
		held := newHeld()
		apply(t, held, s.Apply(treeOf(files)))
		again, heldAgain := newStore(t, whole), newHeld()
		if bad := again.Restore(s.Unsaved(), sound); len(bad) > 0 || len(held.objects) < 40 {
			t.Fatalf("%d objects; cannot be used: %v", len(held.objects), bad)
		}
		apply(t, heldAgain, again.Apply(watcher.Tree{Missing: true}))
		compare(t, heldAgain, held)
	}
}

// What other files may not define any more, after a restart with other flags, is
// not served for having been served before.
func TestRestoredObjectsStayBehindTheFence(t *testing.T) {
	files := map[string]string{
		"ns.yaml":      "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, annotations: {gatefold.io/paths: teams/*}}\n",
		"teams/a.yaml": route("a", "/1"), "other/b.yaml": route("b", "/1"),
	}
	s, saved := newStore(t, saving), ledger{}
	s.Apply(treeOf(map[string]string{"x.yaml": strings.Replace(files["ns.yaml"], "gatefold.io/paths", "note", 1), "teams/a.yaml": files["teams/a.yaml"], "other/b.yaml": files["other/b.yaml"]}))
	saved.take(s)
	cluster, err := tenancy.Parse("ns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fenced := Options{Save: true, ClusterPaths: cluster}
	if got := summary(saved.restart(t, fenced).Apply(watcher.Tree{Missing: true})); got != "" {
		t.Errorf("a Namespace of another file: %q", got)
	}
	again := saved.restart(t, fenced)
	if got := summary(again.Apply(treeOf(files))); got != "+default +a=/1 OutsideFence" {
		t.Errorf("fenced: %q", got)
	}
	saved.take(again)
	again = saved.restart(t, fenced)
	files["ns.yaml"] += "x: [\n"
	files["other/b.yaml"] = route("a", "/2")
	files["teams/a.yaml"] = "a: ["
	if got := summary(again.Apply(treeOf(files))); !strings.HasPrefix(got, "+default +a=/1 ") || !strings.Contains(got, "OutsideFence") {
		t.Errorf("a broken fence: %q", got)
	}
}

// What cannot be used is named, and the rest serves.
func TestRestoreOfOtherThings(t *testing.T) {
	key := func(name string) manifest.Key {
		return manifest.Key{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "default", Name: name}
	}
	s := newStore(t, saving)
	bad := s.Restore([]Saved{
		{Key: key("a"), Path: "x.yaml", Text: []byte(route("a", "/1"))},
		{Key: key("a"), Path: "y.yaml", Text: []byte(route("a", "/2"))},
		{Key: key("b"), Path: "x.yaml", Text: []byte(route("c", "/1"))},
		{Key: key("d"), Path: "x.yaml", Text: []byte("a: [")},
		{Key: key("e"), Path: "x.yaml"},
		{Key: key("f"), Text: []byte(route("f", "/1"))},
		{Key: key("g"), Path: "x.yaml", Text: []byte(strings.Replace(route("g", "/1"), "rules:", "rulez:", 1))},
		{Key: key("h"), Path: "x.yaml", Text: []byte(listOf(route("h", "/1"), route("i", "/1")))},
	}, false)
	if fmt.Sprint(bad) != fmt.Sprint([]manifest.Key{key("a"), key("b"), key("d"), key("e"), key("f"), key("g"), key("h")}) {
		t.Errorf("cannot be used: %v", bad)
	}
	if got := summary(s.Apply(watcher.Tree{Missing: true})); got != "+a=/1 HOLD FolderMissing" {
		t.Errorf("got %q", got)
	}
}
