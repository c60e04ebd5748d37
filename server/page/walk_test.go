package page_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/server/admin"
)

// faulty is a folder with faults that belong to different people: the name of a Backend, a namespace that the Gateway
// does not allow, the target of a policy, and labels that no object has.
const faulty = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: platform}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: http, protocol: HTTP, port: 8080, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {edge: open}}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {edge: open}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop, labels: {app: cart}}
spec:
  parentRefs: [{name: edge, namespace: platform}]
  hostnames: [shop.example.com]
  rules:
  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: crat}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: cart, namespace: shop}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: blog, namespace: blog}
spec:
  parentRefs: [{name: edge, namespace: platform}]
  hostnames: [blog.example.com]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: invalid}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: invalid, namespace: blog}
spec: {type: Static, static: {hostz: []}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: named, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: carts}]
  csrf: {percentageEnabled: 100}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: labelled, namespace: shop}
spec:
  targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: carts}}]
  csrf: {percentageEnabled: 100}
`

var links = regexp.MustCompile(`<a [^>]*href="(/[^"]*)"`)

// within returns the words of the pages that at most so many links lead to from the overview, by address.
func (s *site) within(count int) map[string]string {
	s.t.Helper()
	pages, next := map[string]string{}, []string{"/"}
	for range count + 1 {
		var found []string
		for _, path := range next {
			if _, seen := pages[path]; seen {
				continue
			}
			page := s.get(path) // fails for a link that leads nowhere
			pages[path] = words(page)
			for _, link := range links.FindAllStringSubmatch(page, -1) {
				found = append(found, html.UnescapeString(link[1]))
			}
		}
		next = found
	}
	return pages
}

// Each fault of a folder is on the overview with its place and what to do. Two links lead to the object that has to be
// changed, and no link leads nowhere.
func TestABrokenSiteIsDiagnosed(t *testing.T) {
	s := serve(t, map[string]string{"site.yaml": faulty})
	overview := words(s.get("/"))
	for _, fault := range [][]string{
		{"BackendNotFound", "HTTPRoute shop/cart", "site.yaml:20:", "Backend shop/crat does not exist", `did you mean "cart"?`},
		{"NotAllowedByListeners", "HTTPRoute blog/blog", "site.yaml:31:", "no listener of Gateway platform/edge allows HTTPRoute of namespace blog",
			"listener http takes routes of namespaces with edge=open: give Namespace blog the labels, set allowedRoutes.namespaces of a listener, or move the route"},
		{"UnknownField", "Backend blog/invalid", "site.yaml:38:", "hostz", `did you mean "hosts"?`},
		{"TargetNotFound", "TrafficPolicy shop/named", "site.yaml:44:", "HTTPRoute shop/carts does not exist", `did you mean "cart"?`},
		{"NoEffect", "TrafficPolicy shop/labelled", "site.yaml:51:", "the selector matches no object in namespace shop", "give the labels to the objects"},
	} {
		shows(t, overview, fault...)
	}
	var problems admin.ProblemList
	s.read("/api/v1/problems", &problems)
	for _, p := range problems.Problems {
		shows(t, overview, p.Message, p.Hint)
	}
	pages := s.within(2)
	object := func(group, kind, namespace, name string) string {
		path := "/page/object?" + strings.TrimPrefix("&group="+group+"&kind="+kind+"&name="+name+"&namespace="+namespace, "&")
		page, ok := pages[path]
		if !ok {
			t.Errorf("two links do not lead to %s", path)
		}
		return page
	}
	const gw, kg = "gateway.networking.k8s.io", "gateway.kgateway.dev"
	shows(t, object(gw, "Gateway", "platform", "edge"), "site.yaml:1", "Namespace shop spec.listeners[0].allowedRoutes.namespaces.selector selected by label edge=open", "edge: open")
	shows(t, object(gw, "HTTPRoute", "shop", "cart"), "Backend shop/crat not served spec.rules[0].backendRefs[0]")
	shows(t, object(gw, "HTTPRoute", "blog", "blog"), "Backend blog/invalid not served spec.rules[0].backendRefs[0]")
	shows(t, object(kg, "Backend", "blog", "invalid"), "not served No version of the object is valid", "site.yaml:38:31", `did you mean "hosts"?`)
	shows(t, object(kg, "TrafficPolicy", "shop", "named"), "HTTPRoute shop/carts not served spec.targetRefs[0]")
	shows(t, object(kg, "TrafficPolicy", "shop", "labelled"), "HTTPRoute shop/* spec.targetSelectors[0] by label app=carts: no object is selected")
}
