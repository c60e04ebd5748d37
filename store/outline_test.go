package store

import (
	"fmt"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// An outline is what can be read of a route, valid or not, alone or in a list.
func TestOutlinesOfRoutes(t *testing.T) {
	s := newStore(t, Options{})
	s.Apply(treeOf(map[string]string{
		"valid.yaml": route("a", "/a"),
		"broken.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: typo, namespace: team}
spec:
  hostnames: [A.test]
  parentRefs: [{kind: HTTPRoute, name: root, namespace: infra}]
  rules:
  - match: [{path: {value: /typo}}]
    filters: [{path: /no}]
  - matches: [{path: {type: Exact, value: /x}}, {headers: [{name: x}]}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: b}, {name: s, port: 80}]
`,
		"list.yaml": `apiVersion: v1
kind: List
items:
- apiVersion: gateway.networking.k8s.io/v1
  kind: GRPCRoute
  metadata: {name: rpc}
  spec: {rule: x, rules: [{matches: [{method: {service: s.S, method: Get}}, {method: {service: s.S}}]}]}
`,
		"half.yaml": "kind: HTTPRoute\nmetadata: {name: half",
	}))
	want := map[manifest.Key]string{
		{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "default", Name: "a"}:    "{true [] [Gateway default/web] [{[{ /a}] []}]}",
		{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "team", Name: "typo"}:    "{true [a.test] [HTTPRoute infra/root] [{[{ /typo}] []} {[{Exact /x} { /}] [HTTPRoute b/*]}]}",
		{Group: gatewayGroup, Kind: "GRPCRoute", Namespace: "default", Name: "rpc"}:  "{true [] [] [{[{Exact /s.S/Get} { /s.S}] []}]}",
		{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "default", Name: "half"}: "{false [] [] []}",
		{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "other", Name: "typo"}:   "{false [] [] []}",
	}
	for key, outline := range want {
		if got := fmt.Sprint(s.Outlines([]manifest.Key{key})[0]); got != outline {
			t.Errorf("%s: got  %s\nwant %s", key, got, outline)
		}
	}
}
