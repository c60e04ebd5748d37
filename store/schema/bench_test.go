package schema

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

const typicalRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: shop
  namespace: web
  labels: {team: shop}
spec:
  parentRefs: [{name: edge, sectionName: https}]
  hostnames: [shop.example.com]
  rules:
  - matches:
    - path: {value: /cart}
      headers: [{name: x-beta, value: "1"}]
    - path: {type: Exact, value: /basket}
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: x-from, value: edge}]}
    backendRefs: [{name: cart, port: 8080}, {name: cart-next, port: 8080, weight: 5}]
  - matches: [{path: {value: /}}]
    timeouts: {request: 10s}
    backendRefs: [{name: web, port: 80}]
`

// BenchmarkCheckHTTPRoute is the Check of a route of two rules. The copy that
// each round starts from is not counted.
func BenchmarkCheckHTTPRoute(b *testing.B) {
	route := documents(b, []byte(typicalRoute))[0]
	gvk := gvkOf(route)
	kinds(b).Check(gvk, runtime.DeepCopyJSON(route)) // compiles
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		object := runtime.DeepCopyJSON(route)
		b.StartTimer()
		if found := kinds(b).Check(gvk, object); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

// BenchmarkAPIServerHTTPRoute checks the route of BenchmarkCheckHTTPRoute by the parts of the
// Kubernetes API server: what the walk of this package costs less is why it exists.
func BenchmarkAPIServerHTTPRoute(b *testing.B) {
	route := documents(b, []byte(typicalRoute))[0]
	gvk := gvkOf(route)
	server := newAPIServer(b, kinds(b).kinds[gvk.GroupKind()], gvk.Version)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		object := runtime.DeepCopyJSON(route)
		b.StartTimer()
		if wrong := server.check(b, object); len(wrong) > 0 {
			b.Fatal(wrong)
		}
	}
}

// BenchmarkCompile is the first Check of the largest kind.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		set, err := load()
		if err != nil {
			b.Fatal(err)
		}
		object := documents(b, []byte(typicalRoute))[0]
		set.Check(gvkOf(object), object)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(); err != nil {
			b.Fatal(err)
		}
	}
}
