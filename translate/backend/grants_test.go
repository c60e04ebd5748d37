package backend

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// A ReferenceGrant permits each of its from to each of its to. Two grants never join.
func TestGrants(t *testing.T) {
	name := gwv1.ObjectName("one")
	grants := ReadGrants([]*gwv1.ReferenceGrant{
		{Spec: gwv1.ReferenceGrantSpec{
			From: []gwv1.ReferenceGrantFrom{{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "a"}, {Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "a"}},
			To:   []gwv1.ReferenceGrantTo{{Kind: "Service", Name: &name}},
		}},
		{Spec: gwv1.ReferenceGrantSpec{
			From: []gwv1.ReferenceGrantFrom{{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "b"}},
			To:   []gwv1.ReferenceGrantTo{{Kind: "Service"}, {Kind: "Secret", Name: new(gwv1.ObjectName)}},
		}},
	})
	for _, c := range []struct {
		from, kind, name string
		want             bool
	}{
		{"a", "Service", "one", true},
		{"a", "Service", "two", false},
		{"a", "Secret", "one", false},
		{"b", "Service", "two", true},
		{"b", "Secret", "two", true}, // an empty name is every name
		{"b", "ConfigMap", "two", false},
		{"c", "Service", "one", false},
	} {
		r := Reference{
			From: manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: c.from},
			To:   manifest.Key{Kind: c.kind, Namespace: "target", Name: c.name},
		}
		if got := grants.Permit(r); got != c.want {
			t.Errorf("HTTPRoute of %s to %s %s: got %v", c.from, c.kind, c.name, got)
		}
	}
}
