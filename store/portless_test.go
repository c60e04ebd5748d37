package store

import (
	"strings"
	"testing"
)

// TestReferenceWithoutPortNamesTheBackend has references without group, kind and port. The hint says whether there is a
// Backend of the name, also when the Backend comes and goes later.
func TestReferenceWithoutPortNamesTheBackend(t *testing.T) {
	const (
		backend = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b}\nspec: {static: {hosts: [{host: 127.0.0.1, port: 3000}]}}\n"
		route   = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\n" +
			"spec: {parentRefs: [{name: g}], rules: [{backendRefs: [{name: other}, {name: b}]}, {filters: [{type: RequestMirror, requestMirror: {backendRef: {name: b}}}]}]}\n"
		extension = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: GatewayExtension\nmetadata: {name: e}\n" +
			"spec: {extAuth: {grpcService: {backendRef: {name: b}}}}\n"
		exists = "there is a Backend of that name: add group: gateway.kgateway.dev, kind: Backend"
	)
	s := newStore(t, Options{})
	for _, files := range []map[string]string{
		{"r.yaml": route, "e.yaml": extension},
		{"r.yaml": route, "e.yaml": extension, "b.yaml": backend},
		{"r.yaml": route, "e.yaml": extension},
	} {
		_, served := files["b.yaml"]
		named := 0
		for _, p := range s.Apply(treeOf(files)).Problems {
			other := strings.HasSuffix(p.Field, "rules[0].backendRefs[0]")
			if p.Code != "RuleViolated" || (p.Hint == exists) != (served && !other) || p.Hint != exists && !strings.HasPrefix(p.Hint, "a Service needs a port; if it is a Backend") {
				t.Errorf("%+v", p)
			}
			named++
		}
		if named != 4 {
			t.Errorf("%d references", named)
		}
	}
}
