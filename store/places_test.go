package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

func TestPlacesAreThoseOfTheNewestFiles(t *testing.T) {
	s := newStore(t, Options{})
	key := manifest.Key{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "default", Name: "a"}
	fields := []manifest.Field{
		{Object: key, Path: ""}, {Object: key, Path: "spec.rules[0]"}, {Object: key, Path: "spec.rules[0].matches[0].path.value"}, {Object: key, Path: "spec.hostnames"},
		{Object: manifest.Key{Kind: "Service", Namespace: "default", Name: "nobody"}, Path: "spec"},
	}
	want := func(places ...string) {
		t.Helper()
		var got []string
		for _, p := range s.Places(fields) {
			got = append(got, fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column))
		}
		if !slices.Equal(got, places) {
			t.Errorf("got  %q\nwant %q", got, places)
		}
	}
	files := map[string]string{"x.yaml": "# c\n---\n" + route("b", "/b") + "---\n" + route("a", "/a")}
	s.Apply(treeOf(files))
	want("x.yaml:16:1", "x.yaml:24:5", "x.yaml:25:21", "x.yaml:20:1", ":0:0")
	before, then := s.Places(fields), s.PlacesNow()
	files["x.yaml"] = "# one line more\n" + files["x.yaml"]
	s.Apply(treeOf(files))
	want("x.yaml:17:1", "x.yaml:25:5", "x.yaml:26:21", "x.yaml:21:1", ":0:0")
	files["x.yaml"] = "a: ["
	s.Apply(treeOf(files))
	want("x.yaml:0:0", "x.yaml:0:0", "x.yaml:0:0", "x.yaml:0:0", ":0:0")
	if got := then(fields); !slices.Equal(got, before) {
		t.Errorf("the places of two Trees ago are %v, want %v", got, before)
	}
}
