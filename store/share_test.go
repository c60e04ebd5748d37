package store

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/gatefold/gatefold/store/api"
)

// TestObjectsShareWords reads the same route under two names: they are what a reader
// without a sharer makes of them, and what they name alike is in memory once.
func TestObjectsShareWords(t *testing.T) {
	text := func(name string) []byte {
		return fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s, annotations: {a: b}}, spec: {
  parentRefs: [{name: eg}], hostnames: [h.example.com], rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: b, port: 80}]}]}}`, name)
	}
	sharing, alone := reader{schemas: schemas(), sharer: newSharer()}, reader{schemas: schemas()}
	var routes []*api.HTTPRoute
	for _, name := range []string{"one", "two"} {
		got, want := sharing.read(text(name)).items[0].object, alone.read(text(name)).items[0].object
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read with a sharer:\n%+v\nwithout:\n%+v", got, want)
		}
		if unsafe.StringData(got.Key.Name) != unsafe.StringData(got.Value.GetName()) {
			t.Error("an object and its key do not share the name")
		}
		routes = append(routes, got.Value.(*api.HTTPRoute))
	}
	one, two := routes[0], routes[1]
	for what, pair := range map[string][2]string{
		"kind": {one.Kind, two.Kind}, "namespace": {one.Namespace, two.Namespace},
		"parent": {string(one.Spec.ParentRefs[0].Name), string(two.Spec.ParentRefs[0].Name)},
		"host":   {string(one.Spec.Hostnames[0]), string(two.Spec.Hostnames[0])},
	} {
		if unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("the %s is in memory twice", what)
		}
	}
	if one.Spec.ParentRefs[0].Kind != two.Spec.ParentRefs[0].Kind || one.Spec.Rules[0].Matches[0].Path.Type != two.Spec.Rules[0].Matches[0].Path.Type {
		t.Error("a default is in memory twice")
	}
}

// TestSharerIsBounded gives it more words than it remembers.
func TestSharerIsBounded(t *testing.T) {
	s := newSharer()
	for i := range 10_000 {
		if text := fmt.Sprint("word ", i); *s.word(text) != text {
			t.Fatalf("%q became %q", text, *s.word(text))
		}
	}
	before := s.word("often")
	if s.word("often") != before {
		t.Error("a word that came again is another")
	}
}
