package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What is read from a Checked is what the text gave, for every sound document of the
// examples and of the Gateway API's: the object, its hash and its place.
func TestCheckedIsWhatWasRead(t *testing.T) {
	set := schemas()
	kinds := map[string]int{}
	for _, text := range soundDocuments(t) {
		r := reader{schemas: set, save: true}.read([]byte(text))
		if !r.plain {
			continue
		}
		object := r.items[0].object
		again := written(t, &Checked{object: object, name: r.items[0].place})
		got, err := again.read(object.Key)
		if err != nil {
			t.Errorf("%s: %v", object.Key, err)
			continue
		}
		if item := got.items[0]; item.object.Hash != object.Hash || item.place != r.items[0].place || !reflect.DeepEqual(item.object, object) {
			t.Errorf("%s: got %+v, want %+v\n%s", object.Key, item.object.Value, object.Value, text)
		}
		kinds[object.Key.Kind]++
	}
	for _, kind := range []string{"HTTPRoute", "Gateway", "Service", "TrafficPolicy", "Backend", "GRPCRoute", "EndpointSlice"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s was tried: %v", kind, kinds)
		}
	}
}

// soundDocuments are those of the examples and the cases.
func soundDocuments(t *testing.T) (texts []string) {
	t.Helper()
	for _, pattern := range []string{"../examples/*/*.yaml", "../examples/*/*/*.yaml", "../translate/testdata/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for piece := range strings.SplitSeq(string(text), "\n-- ") { // the files of an archive
				_, piece, _ = strings.Cut("--\n"+piece, "--\n")
				for _, part := range splitDocuments([]byte(piece)) {
					texts = append(texts, string(part.text))
				}
			}
		}
	}
	return texts
}

// written is what a journal gives back.
func written(t *testing.T, c *Checked) *Checked {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again := new(Checked)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	return again
}

// What encoding/json might leave out or cut, or a warning, has no Checked.
func TestOnlyPlainDocumentsAreChecked(t *testing.T) {
	plain := route("a", "/a")
	for text, want := range map[string]bool{
		plain: true,
		strings.Replace(plain, "spec:\n", "spec:\n  hostnames: []\n", 1):                             false,
		strings.Replace(plain, "  name:", "  labels: {}\n  name:", 1):                                false,
		strings.Replace(plain, "  name:", "  creationTimestamp: 2026-01-02T03:04:05Z\n  name:", 1):   true,
		strings.Replace(plain, "  name:", "  creationTimestamp: 2026-01-02T03:04:05.6Z\n  name:", 1): false,
		listOf(plain): false,
		secret("s"):   false,
		strings.Replace(plain, "path: {value: /a}", "path: {value: a}", 1):                       false,
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: n, namespace: it-has-none}\nspec: {}": false,
	} {
		if got := (reader{schemas: schemas(), save: true}).read([]byte(text)).plain; got != want {
			t.Errorf("plain is %v for\n%s", got, text)
		}
	}
}

// A restart by the same schema neither parses nor checks; one by another schema, or of
// a document that says more than its object, does.
func TestRestartTakesWhatWasChecked(t *testing.T) {
	s := newStore(t, saving)
	warned := strings.Replace(route("b", "/b"), "gateway.networking.k8s.io/v1\n", "gateway.networking.k8s.io/v1beta1\n", 1) + "status: {}\n"
	text := route("a", "/a") + "---\n" + warned
	s.Apply(treeOf(files{"x.yaml": text}))
	saved := s.Unsaved()
	for i := range saved {
		if saved[i].Checked != nil {
			saved[i].Checked = written(t, saved[i].Checked)
		}
		saved[i].Text = nil // whoever reads it finds nothing
	}
	for _, sound := range []bool{true, false} {
		again := newStore(t, saving)
		unusable := again.Restore(saved, sound)
		if want := map[bool]int{true: 0, false: 2}[sound]; len(unusable) != want {
			t.Errorf("sound %v: unusable %v", sound, unusable)
		}
	}
}
