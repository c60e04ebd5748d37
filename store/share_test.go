package store

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/gatefold/gatefold/store/api"
)

// TestObjectsShareWords reads the same route under two names: they are what a reader
// without a sharer makes of them, and what they name alike is in memory once. Two words
// may have the same place in a sharer, and then the second displaces the first; that is
// another pair of words in each sharer, so that one of many sharers shares them all.
func TestObjectsShareWords(t *testing.T) {
	var twice []string
	for range 50 {
		if twice = inMemoryTwice(t, newSharer()); twice == nil {
			return
		}
	}
	t.Errorf("in memory twice, with each of 50 sharers, and at last: %q", twice)
}

// inMemoryTwice reads two routes with this sharer and names what of them it did not share.
func inMemoryTwice(t *testing.T, s *sharer) (twice []string) {
	text := func(name string) []byte {
		return fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s, annotations: {a: b}}, spec: {
  parentRefs: [{name: eg}], hostnames: [h.example.com], rules: [{matches: [{path: {value: /a}}], backendRefs: [{name: b, port: 80}]}]}}`, name)
	}
	sharing, alone := reader{schemas: schemas(), sharer: s}, reader{schemas: schemas()}
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
	for what, pair := range map[string][2]*byte{
		"kind":      {unsafe.StringData(one.Kind), unsafe.StringData(two.Kind)},
		"namespace": {unsafe.StringData(one.Namespace), unsafe.StringData(two.Namespace)},
		"parent":    {unsafe.StringData(string(one.Spec.ParentRefs[0].Name)), unsafe.StringData(string(two.Spec.ParentRefs[0].Name))},
		"host":      {unsafe.StringData(string(one.Spec.Hostnames[0])), unsafe.StringData(string(two.Spec.Hostnames[0]))},
	} {
		if pair[0] != pair[1] {
			twice = append(twice, what)
		}
	}
	if one.Spec.ParentRefs[0].Kind != two.Spec.ParentRefs[0].Kind || one.Spec.Rules[0].Matches[0].Path.Type != two.Spec.Rules[0].Matches[0].Path.Type {
		twice = append(twice, "a default")
	}
	return twice
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
