package route

import (
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// TestOnlyItsNameSelectsByName wants Named only for the child in the namespace of the selector: a child of the same
// name elsewhere was selected with all routes of its namespace.
func TestOnlyItsNameSelectsByName(t *testing.T) {
	point := &Point{Rest: &ir.Rule{Source: &ir.Origin{}}, Selectors: []Selector{
		{Form: ByName, Namespace: "shop", Value: "cart"},
		{Form: ByNamespace, Namespace: "pay"},
	}}
	for namespace, want := range map[string]bool{"shop": true, "pay": false} {
		key := manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: namespace, Name: "cart"}
		linked := LinkTo(manifest.Key{Kind: "HTTPRoute", Namespace: "infra", Name: "root"}, []*Point{point},
			&manifest.Object{Key: key, Value: &api.HTTPRoute{}}, Home{})
		if linked.Named != want || len(linked.Links) != 1 {
			t.Errorf("%s: named %v, %d links", namespace, linked.Named, len(linked.Links))
		}
	}
}
