package page_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// selecting is a folder in which each kind of selection selects something and leaves something out.
const selecting = `
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {env: prod, tier: web}}
---
apiVersion: v1
kind: Namespace
metadata: {name: other, labels: {env: test}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: platform}
spec:
  gatewayClassName: gatefold
  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: other}}}}
  listeners:
  - name: http
    protocol: HTTP
    port: 8080
    allowedRoutes:
      namespaces: {from: Selector, selector: {matchLabels: {env: prod}, matchExpressions: [{key: tier, operator: In, values: [web, api]}]}}
  - {name: same, protocol: HTTP, port: 8081, allowedRoutes: {namespaces: {from: Same, selector: {matchLabels: {env: prod}}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: platform}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {value: /every}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: team}]
  - matches: [{path: {value: /here}}]
    backendRefs: [{group: delegation.kgateway.dev, kind: label, name: here, namespace: team}]
  - matches: [{path: {value: /wide}}]
    backendRefs: [{group: delegation.kgateway.dev, kind: label, name: wide, namespace: all}]
  - matches: [{path: {value: /none}}]
    backendRefs: [{group: delegation.kgateway.dev, kind: label, name: none, namespace: team}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: team, labels: {app: cart, delegation.kgateway.dev/label: here}}
spec:
  rules:
  - {matches: [{path: {value: /every/cart}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart}]}
  - {matches: [{path: {value: /here/cart}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: list, namespace: team, labels: {app: list}}
spec:
  rules: [{matches: [{path: {value: /every/list}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: plain}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: far, namespace: other, labels: {app: cart, delegation.kgateway.dev/label: wide}}
spec:
  rules: [{matches: [{path: {value: /wide/far}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: far}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: cart, namespace: team, labels: {speed: slow}}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: plain, namespace: team}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9002}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: far, namespace: other, labels: {speed: slow}}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9003}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: BackendConfigPolicy
metadata: {name: slow, namespace: team}
spec:
  targetSelectors: [{group: gateway.kgateway.dev, kind: Backend, matchLabels: {speed: slow}}]
  connectTimeout: 9s
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: keys, namespace: team}
spec:
  targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: cart}}]
  apiKeyAuth: {secretSelector: {matchLabels: {for: cart, kind: key}}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: every, namespace: team}
spec:
  targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {}}]
  headerModifiers: {response: {set: [{name: x-team, value: team}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: cart, namespace: team, labels: {for: cart, kind: key, more: "1"}}
stringData: {alice: 0123456789abcdef}
---
apiVersion: v1
kind: Secret
metadata: {name: plain, namespace: team, labels: {for: cart}}
stringData: {bob: 0123456789abcdef}
`

// pageOf returns the words of the page of an object, of what it refers to, and of what refers to it.
func (s *site) pageOf(group, kind, namespace, name string) (page, to, from string) {
	s.t.Helper()
	query := url.Values{"kind": {kind}, "name": {name}}
	for field, value := range map[string]string{"group": group, "namespace": namespace} {
		if value != "" {
			query.Set(field, value)
		}
	}
	page = words(s.get("/page/object?" + query.Encode()))
	_, references, _ := strings.Cut(page, " Refers to ")
	references, _, _ = strings.Cut(references, " As it is served ")
	to, from, ok := strings.Cut(references, " Referred to by ")
	if !ok {
		s.t.Fatalf("the page of %s %s/%s has no references: %s", kind, namespace, name, page)
	}
	return page, to, from
}

// What selects an object by labels or by its namespace is on its page with the reason, and what does not select it is
// not. The page of what selects has the objects.
func TestSelectionsAreOnThePagesOfBothSides(t *testing.T) {
	const gw, kg = "gateway.networking.k8s.io", "gateway.kgateway.dev"
	const every = "HTTPRoute team/root spec.rules[0].backendRefs[0] selected by namespace team"
	const policy = "TrafficPolicy team/every spec.targetSelectors[0] selected by kind: every HTTPRoute of namespace team"
	const keys = "TrafficPolicy team/keys spec.targetSelectors[0] selected by label app=cart"
	s := serve(t, map[string]string{"a.yaml": selecting})
	for _, c := range []struct {
		group, kind, namespace, name string
		from                         []string
	}{
		{gw, "HTTPRoute", "team", "cart", []string{policy, keys, every, "HTTPRoute team/root spec.rules[1].backendRefs[0] selected by label delegation.kgateway.dev/label=here"}},
		{gw, "HTTPRoute", "team", "list", []string{policy, every}},
		{gw, "HTTPRoute", "team", "root", []string{policy}}, // a root is in no selection of routes
		{gw, "HTTPRoute", "other", "far", []string{"HTTPRoute team/root spec.rules[2].backendRefs[0] selected by label delegation.kgateway.dev/label=wide in all namespaces"}},
		{"", "Namespace", "", "team", []string{"Gateway platform/edge spec.listeners[0].allowedRoutes.namespaces.selector selected by labels env=prod, tier in web|api"}},
		{"", "Namespace", "", "other", []string{"Gateway platform/edge spec.allowedListeners.namespaces.selector selected by label kubernetes.io/metadata.name=other"}},
		{kg, "Backend", "team", "cart", []string{"BackendConfigPolicy team/slow spec.targetSelectors[0] selected by label speed=slow",
			"HTTPRoute team/cart spec.rules[0].backendRefs[0]", "HTTPRoute team/cart spec.rules[1].backendRefs[0]"}},
		{kg, "Backend", "team", "plain", []string{"HTTPRoute team/list spec.rules[0].backendRefs[0]"}},
		{kg, "Backend", "other", "far", []string{"HTTPRoute other/far spec.rules[0].backendRefs[0]"}},
		{"", "Secret", "team", "cart", []string{"TrafficPolicy team/keys spec.apiKeyAuth.secretSelector selected by labels for=cart, kind=key"}},
		{"", "Secret", "team", "plain", []string{"No object refers to it."}},
	} {
		if _, _, from := s.pageOf(c.group, c.kind, c.namespace, c.name); from != strings.Join(c.from, " ") {
			t.Errorf("%s %s/%s is referred to by\n%s\nwant\n%s", c.kind, c.namespace, c.name, from, strings.Join(c.from, " "))
		}
	}
	for _, c := range []struct {
		group, kind, namespace, name string
		to                           []string
	}{
		{gw, "Gateway", "platform", "edge", []string{"GatewayClass gatefold spec.gatewayClassName", "Namespace other spec.allowedListeners.namespaces.selector selected by label kubernetes.io/metadata.name=other",
			"Namespace team spec.listeners[0].allowedRoutes.namespaces.selector selected by labels env=prod, tier in web|api"}},
		{gw, "HTTPRoute", "team", "root", []string{"Gateway platform/edge spec.parentRefs[0]",
			"HTTPRoute team/cart spec.rules[0].backendRefs[0] selected by namespace team", "HTTPRoute team/list spec.rules[0].backendRefs[0] selected by namespace team",
			"HTTPRoute team/cart spec.rules[1].backendRefs[0] selected by label delegation.kgateway.dev/label=here",
			"HTTPRoute other/far spec.rules[2].backendRefs[0] selected by label delegation.kgateway.dev/label=wide in all namespaces",
			"HTTPRoute team/* spec.rules[3].backendRefs[0] by label delegation.kgateway.dev/label=none: no object is selected"}},
		{kg, "TrafficPolicy", "team", "keys", []string{"HTTPRoute team/cart spec.targetSelectors[0] selected by label app=cart", "Secret team/cart spec.apiKeyAuth.secretSelector selected by labels for=cart, kind=key"}},
	} {
		_, to, _ := s.pageOf(c.group, c.kind, c.namespace, c.name)
		for _, one := range c.to {
			if !strings.Contains(to, one) {
				t.Errorf("%s %s/%s refers to\n%s\nwant\n%s", c.kind, c.namespace, c.name, to, one)
			}
		}
		if n := strings.Count(to, " spec."); n != len(c.to) {
			t.Errorf("%s %s/%s has %d references, want %d: %s", c.kind, c.namespace, c.name, n, len(c.to), to)
		}
	}
}

// The selections on the pages are those that serve: the tree has the routes, and explain the policies.
func TestSelectionsAreThoseThatServe(t *testing.T) {
	s := serve(t, map[string]string{"a.yaml": selecting})
	var nodes []*explain.TreeNode
	s.read("/api/v1/tree", &nodes)
	served := map[manifest.Key]bool{}
	eachNode(nodes, func(n *explain.TreeNode) {
		if n.Kind == "route" {
			served[n.Object] = true
		}
	})
	for _, name := range []string{"team/cart", "team/list", "other/far"} {
		namespace, name, _ := strings.Cut(name, "/")
		key := manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: namespace, Name: name}
		_, _, from := s.pageOf(key.Group, key.Kind, namespace, name)
		if !served[key] || !strings.Contains(from, "HTTPRoute team/root") {
			t.Errorf("%s is below the root: %v; it is referred to by %s", key, served[key], from)
		}
	}
	for name, policies := range map[string]string{"cart": "keys every", "list": "every"} {
		report := s.get("/api/v1/explain?" + url.Values{"method": {"GET"}, "url": {"http://shop.example.com:8080/every/" + name}}.Encode())
		_, _, from := s.pageOf("gateway.networking.k8s.io", "HTTPRoute", "team", name)
		for _, policy := range []string{"keys", "every"} {
			want := strings.Contains(policies, policy)
			if shown := strings.Contains(from, fmt.Sprintf("TrafficPolicy team/%s ", policy)); shown != want {
				t.Errorf("%s: the page shows policy %s: %v, want %v", name, policy, shown, want)
			}
			if explained := strings.Contains(report, fmt.Sprintf(`"name": %q`, policy)); explained != want {
				t.Errorf("%s: explain has policy %s: %v, want %v: %s", name, policy, explained, want, report)
			}
		}
	}
}

// The references of a page are bounded, with the number of those that are not shown.
func TestSelectionsAreBounded(t *testing.T) {
	long, text := strings.Repeat("x", 200), strings.Builder{}
	for i := range 260 {
		fmt.Fprintf(&text, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r-%d-%s, namespace: platform, labels: {app: shop}}\nspec:\n  parentRefs: [{name: edge}]\n", i, long)
		fmt.Fprintf(&text, "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: p-%d-%s, namespace: platform}\nspec:\n"+
			"  targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: shop}}]\n  autoHostRewrite: true\n", i, long)
	}
	s := serve(t, map[string]string{"shop.yaml": shop, "many.yaml": text.String()})
	_, to, _ := s.pageOf("gateway.kgateway.dev", "TrafficPolicy", "platform", "p-1-"+long)
	shows(t, to, "60 more.")
	_, _, from := s.pageOf("gateway.networking.k8s.io", "HTTPRoute", "platform", "r-1-"+long)
	shows(t, from, "60 more.")
	for _, kind := range []string{"gateway.networking.k8s.io&kind=HTTPRoute&name=r-1-", "gateway.kgateway.dev&kind=TrafficPolicy&name=p-1-"} {
		if page := s.get("/page/object?namespace=platform&group=" + kind + long); len(page) > 300_000 {
			t.Errorf("the page of %s has %d bytes", kind, len(page))
		}
	}
}
