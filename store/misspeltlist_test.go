package store

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// A List whose kind is misspelt is an error: its objects stay served, and at a start its policies close their targets.
func TestAMisspeltListKeepsItsObjects(t *testing.T) {
	const list = "apiVersion: v1\nkind: List\nitems:\n" +
		"- {apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: office}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], acl: {defaultAction: deny}}}\n"
	office := manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: "default", Name: "office"}
	for _, kind := range []string{"Lst", "Lis", "Listt", "Lists", "lst", "Items"} {
		misspelt := map[string]string{"l.yaml": strings.Replace(list, "kind: List", "kind: "+kind, 1), "r.yaml": route("r", "/1")}
		s := newStore(t, Options{})
		s.Apply(treeOf(map[string]string{"l.yaml": list, "r.yaml": route("r", "/1")}))
		change := s.Apply(treeOf(misspelt))
		if s.Served(office) == nil || len(change.Gone) > 0 {
			t.Errorf("%s: the policy is gone", kind)
		}
		told := false
		for _, p := range change.Problems {
			told = told || p.Severity == manifest.Error && p.Code == "UnknownKind" && p.Field == "kind"
		}
		if !told {
			t.Errorf("%s: the problems are %+v", kind, change.Problems)
		}
		start := newStore(t, Options{})
		closed := false
		for _, invalid := range start.Apply(treeOf(misspelt)).Invalid {
			closed = closed || len(invalid.Targets) == 1 && invalid.Targets[0].Name == "r"
		}
		if !closed {
			t.Errorf("%s: at a start, nothing closes the route", kind)
		}
	}
	for _, text := range []string{
		"apiVersion: example.com/v1\nkind: Shelf\nitems: [{kind: Book}]\n", "apiVersion: example.com/v1\nkind: Shelf\nitems: [7, {apiVersion: v1, kind: Pod}]\n",
	} {
		if problems := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text})).Problems; len(problems) > 0 {
			t.Errorf("of another program: %+v", problems)
		}
	}
}
