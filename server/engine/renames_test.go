package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A typo in the name of a route that a policy protects, or in the name or namespace of the policy, is held: it would leave the
// requests of the route without the policy. What is renamed together takes effect together.
func TestATypoInANameLeavesNoRouteWithoutItsPolicy(t *testing.T) {
	folder := openGateway + `
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: Backend, metadata: {name: b}, spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: shop}, spec: {parentRefs: [{name: eg}], hostnames: [shop.test],
  rules: [{name: all, backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]}}
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: office}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}],
  acl: {defaultAction: deny}}}
`
	for name, test := range map[string]struct{ from, to, held string }{
		"the route":                 {"HTTPRoute, metadata: {name: shop}", "HTTPRoute, metadata: {name: shpo}", "HTTPRoute default/shop"},
		"the route's namespace":     {"HTTPRoute, metadata: {name: shop}", "HTTPRoute, metadata: {name: shop, namespace: defualt}", "HTTPRoute default/shop"},
		"the policy's namespace":    {"metadata: {name: office}", "metadata: {name: office, namespace: defualt}", "TrafficPolicy default/office TrafficPolicy defualt/office"},
		"the policy":                {"metadata: {name: office}", "metadata: {name: offcie}", ""},
		"the route with its policy": {"name: shop}", "name: store}", ""},
		"the route is removed":      {"kind: HTTPRoute, metadata: {name: shop}", "kind: HTTPRoute, metadata: {name: other, annotations: {a: b}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _ := newTestPipeline(t)
			p.reload(tree(folder))
			p.reload(tree(strings.ReplaceAll(folder, test.from, test.to)))
			var held []string
			for key := range p.reader.store.Held() {
				held = append(held, key.String())
			}
			slices.Sort(held)
			if got := strings.Join(held, " "); got != test.held {
				t.Errorf("held: %q, want %q", got, test.held)
			}
			open := 0
			for _, rule := range rulesOf(p.translation.translator.Preview().View()) {
				if rule.Action.Forward != nil && rule.Action.Extras.OrNone().ACL == nil {
					open++
				}
			}
			want := 0
			if name == "the route is removed" { // the other one is not its new name
				want = 1
			}
			if open != want {
				t.Errorf("%d rules are without the policy, want %d", open, want)
			}
			p.reload(tree(folder))
			if left := fmt.Sprint(len(p.reader.store.Held())); left != "0" {
				t.Errorf("after the fix %s edits are held", left)
			}
		})
	}
}
