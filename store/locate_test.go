package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

func TestFind(t *testing.T) {
	text := `apiVersion: v1
metadata:
  labels: {"a.b/c": x, d: "y z"}
spec:
  rules:
  - matches:
    - path:
        value: /ü
    - {path: {type: Exact}}
    filters: []
  - &two
    name: two
  - *two
  on: 1
text: |
  a
  b
`
	root, err := parseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]place{
		"":                                    {1, 1, 1},
		"apiVersion":                          {1, 13, 2},
		"kind":                                {1, 1, 1},
		"metadata":                            {2, 1, 8},
		"metadata.name":                       {2, 1, 8},
		"metadata.labels":                     {3, 3, 6},
		"metadata.labels[a.b/c]":              {3, 21, 1},
		"metadata.labels.d":                   {3, 27, 5},
		"spec.rules":                          {5, 3, 5},
		"spec.rules[0]":                       {6, 5, 1},
		"spec.rules[0].matches[0].path":       {7, 7, 4},
		"spec.rules[0].matches[0].path.type":  {7, 7, 4},
		"spec.rules[0].matches[0].path.value": {8, 16, 2},
		"spec.rules[0].matches[1].path.type":  {9, 21, 5},
		"spec.rules[0].filters[3].type":       {10, 5, 7},
		"spec.rules[2].name":                  {12, 11, 3},
		"spec.rules[9].name":                  {5, 3, 5},
		"spec[x":                              {4, 1, 4},
		"spec.true":                           {14, 7, 1},
		"text.more":                           {15, 1, 4},
	} {
		if got := find(root, parsePath(field)); got != want {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
}

func TestLocate(t *testing.T) {
	s := newStore(t, Options{})
	locate := func(problems ...manifest.Problem) string {
		var lines []string
		for _, p := range s.Locate(problems) {
			mark, _, _ := strings.Cut(p.Excerpt, "\n")
			lines = append(lines, fmt.Sprintf("%s %q", p.Position(), strings.TrimSpace(mark)))
		}
		return strings.Join(lines, "; ")
	}
	key := func(kind, name string) manifest.Key {
		return keyOf(map[string]any{"apiVersion": kindOfName(kind).apiVersions()[0], "kind": kind, "metadata": map[string]any{"name": name}})
	}
	value := manifest.Problem{Object: key("HTTPRoute", "a"), Field: "spec.rules[0].matches[0].path.value"}
	absent := manifest.Problem{Object: key("HTTPRoute", "b"), Field: "spec.hostnames[0]"}
	nobody := manifest.Problem{Object: key("HTTPRoute", "c"), Field: "spec"}
	secret := manifest.Problem{Object: key("Secret", "s"), Field: "data[tls.crt]"}
	elsewhere := manifest.Problem{File: "f", Line: 3, Object: key("HTTPRoute", "a")}
	files := map[string]string{
		"x.yaml": "# c\n---\n" + route("b", "/b") + "---\n" + route("a", "/a"),
		"y.yaml": "kind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {tls.crt: aGk=}}\n",
	}
	s.Apply(treeOf(files))
	want := ` ""; f:3 ""; x.yaml:7:1 "spec:"; x.yaml:25:21 "- path: {value: /a}"; y.yaml:3:71 ""`
	if got := locate(value, absent, nobody, secret, elsewhere); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	files["x.yaml"] = "# one\n# line more\n" + files["x.yaml"]
	s.Apply(treeOf(files))
	if got, want := locate(value), `x.yaml:27:21 "- path: {value: /a}"`; got != want {
		t.Errorf("moved: got %s, want %s", got, want)
	}
	files["x.yaml"] = "a: ["
	s.Apply(treeOf(files))
	if got, want := locate(value), `x.yaml ""`; got != want {
		t.Errorf("kept: got %s, want %s", got, want)
	}
	invalid := manifest.Problem{Object: key("TrafficPolicy", "p"), Field: "spec"}
	policy := strings.Replace(route("p", "/p"), "HTTPRoute", "TrafficPolicy", 1)
	for _, before := range []string{"", "# moved\n"} {
		files["y.yaml"] = before + strings.Replace(policy, "gateway.networking.k8s.io/v1", "gateway.kgateway.dev/v1alpha1", 1)
		s.Apply(treeOf(files))
		if got, want := locate(invalid), fmt.Sprintf(`y.yaml:%d:9 ""`, 4+strings.Count(before, "\n")); got != want {
			t.Errorf("invalid: got %s, want %s", got, want)
		}
	}
	s.AllowEmpty()
	s.Apply(watcher.Tree{})
	if got, want := locate(value), ` ""`; got != want {
		t.Errorf("gone: got %s, want %s", got, want)
	}
}

func kindOfName(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

// TestKindsAreThoseOfTheSchemas keeps the table and the schemas together.
func TestKindsAreThoseOfTheSchemas(t *testing.T) {
	for _, k := range kinds {
		gk := manifest.Key{Group: k.group, Kind: k.name}.GroupKind()
		served := schemas().Versions(gk)
		for _, version := range k.versions {
			if !strings.Contains(" "+strings.Join(served, " ")+" ", " "+version+" ") {
				t.Errorf("%v: version %s has no schema", gk, version)
			}
		}
		if len(served) != len(k.versions) || schemas().Namespaced(gk) == k.cluster {
			t.Errorf("%v: the table and the schema differ: %v, %v", gk, k.versions, served)
		}
	}
}

func TestLinesEndAtLineFeeds(t *testing.T) {
	text := "a: 1\rb: 2\r\nc: 3\u2028d: 4\u0085e: 5\nf: \"x\u2029y\"\ng: 7\n"
	root, err := parseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	correctLines(root, []byte(text))
	for field, want := range map[string]place{
		"a": {1, 4, 1}, "b": {1, 9, 1}, "c": {2, 4, 1}, "d": {2, 9, 1}, "e": {2, 14, 1}, "g": {4, 4, 1},
	} {
		if got := find(root, parsePath(field)); got != want {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
}

// The problems of a document cost one look at its text: twice the problems in twice the text
// allocate twice as much, not four times.
func TestLocateParsesADocumentOnce(t *testing.T) {
	key := manifest.Key{Group: "discovery.k8s.io", Kind: "EndpointSlice", Namespace: "default", Name: "a"}
	allocated := func(fields int) float64 {
		var text strings.Builder
		text.WriteString("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a}\naddressType: IPv4\nendpoints:\n")
		var problems []manifest.Problem
		for i := range fields {
			fmt.Fprintf(&text, "- addresses: [10.0.%d.%d]\n", i/256, i%256)
			field := fmt.Sprintf("endpoints[%d].addresses[0]", i)
			problems = append(problems, manifest.Problem{Object: key, Field: field, Cause: manifest.Field{Object: key, Path: field}})
		}
		s := newStore(t, Options{})
		s.Apply(treeOf(map[string]string{"a.yaml": text.String()}))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		located := s.Locate(problems)
		runtime.ReadMemStats(&after)
		if last := located[fields-1]; last.Line != fields+5 || !strings.Contains(last.Excerpt, "10.0") {
			t.Fatalf("the last one is at line %d: %q", last.Line, last.Excerpt)
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	if few, many := allocated(400), allocated(800); many > 3*few {
		t.Errorf("800 problems allocate %.0f bytes, 400 %.0f", many, few)
	} else {
		t.Logf("800 problems allocate %.0f KB, 400 %.0f KB", many/1024, few/1024)
	}
}
