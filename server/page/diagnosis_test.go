package page_test

import (
	"net/url"
	"strings"
	"testing"
)

// brokenShop is a site with a wrong backend name, a path that a policy closes, and a route behind another one.
const brokenShop = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}, {name: lost, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: nope}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a, namespace: shop}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {value: /pay}}]
    backendRefs: [{name: wbe, port: 80}]
  - name: admin
    matches: [{path: {value: /admin}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: web}]
  - matches: [{path: {value: /cart}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: web}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: b, namespace: shop}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {value: /cart}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: web}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: admins, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a, sectionName: admin}]
  acl: {defaultAction: deny, rules: [{cidrs: [10.0.0.0/8], action: allow}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: web, namespace: shop}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}
`

// A person who has only the page finds why a site is broken: in the tree, and by the URL.
func TestABrokenSiteIsDiagnosedOnThePage(t *testing.T) {
	s := serve(t, map[string]string{"shop.yaml": brokenShop})
	shows(t, words(s.get("/page/routes")),
		"answers 500 path prefix /pay → 500, BackendNotFound: Service shop/wbe does not exist shop.yaml:15",
		"no request path prefix /cart → Backend/shop/web, Shadowed: this match gets no request",
		"Gateway shop/edge, what it does not accept", "not accepted listener lost: InvalidCertificateRef: Secret shop/nope does not exist")
	if links := s.get("/page/routes"); !strings.Contains(links, ">listener lost:</a> InvalidCertificateRef") {
		t.Error("the link is not the name of the listener alone")
	}
	for path, answer := range map[string][]string{
		"/pay":                {"respond 500", "Service shop/wbe does not exist", "shop.yaml:15"},
		"/admin":              {"Unless acl: TrafficPolicy shop/admins", "which is not known: write it into the form"},
		"/admin&from=1.2.3.4": {"respond 403", "TrafficPolicy shop/admins", "shop.yaml:38"},
		"/cart":               {"HTTPRoute shop/a, rule 2", "HTTPRoute shop/b", "Shadowed"},
	} {
		path, from, _ := strings.Cut(path, "&")
		shows(t, words(s.get("/page/explain?url="+url.QueryEscape("http://shop.example.com:8080"+path)+"&"+from)), answer...)
	}
}
