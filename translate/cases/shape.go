package cases

import (
	"crypto/sha256"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Namespaces is the number of namespaces with child routes in a delegated Shape.
const Namespaces = 16

// shapeBackends is the number of backends that a Shape's routes share.
const shapeBackends = 50

// Shape describes a generated folder for measurements: one Gateway with backends, and HTTPRoutes with one rule,
// one match and one filter each. The root of a delegated shape has a rule for each namespace instead.
type Shape struct {
	// Routes is the number of HTTPRoutes.
	Routes int
	// Hosts is the number of hostnames among which the routes are divided. In a delegated shape, it is the number
	// of hostnames of the root.
	Hosts int
	// Delegated puts the routes below one root. The root has a rule for each of 16 namespaces. Each rule selects
	// all routes of its namespace by "*".
	Delegated bool
}

// String returns the name of the shape, such as "flat/routes=1000/hosts=100".
func (s Shape) String() string {
	kind := "flat"
	if s.Delegated {
		kind = "delegated"
	}
	return fmt.Sprintf("%s/routes=%d/hosts=%d", kind, s.Routes, s.Hosts)
}

// Shapes returns the shapes for measuring the cost of an edit, with 1,000 and 10,000 routes. If large is true,
// it also returns shapes with 100,000 routes.
func Shapes(large bool) []Shape {
	sizes := []int{1000, 10_000}
	if large {
		sizes = append(sizes, 100_000)
	}
	var out []Shape
	for _, n := range sizes {
		out = append(out, Shape{Routes: n, Hosts: 1}, Shape{Routes: n, Hosts: 100}, Shape{Routes: n, Hosts: 1, Delegated: true})
		if n >= 10_000 {
			out = append(out, Shape{Routes: n, Hosts: 10_000})
		}
	}
	return out
}

// Files returns the files of the folder by name.
func (s Shape) Files() map[string][]byte {
	files := map[string][]byte{"gateway.yaml": s.frame()}
	for i := range s.Routes {
		files[s.FileOf(i)] = s.Route(i, 0)
	}
	return files
}

// FileOf returns the file name of the i-th route.
func (s Shape) FileOf(i int) string { return fmt.Sprintf("route-%06d.yaml", i) }

// frame returns the text of the file gateway.yaml. The file contains the Gateway and the backends. If the shape is
// delegated, the file also contains the root route and the ReferenceGrant. All other routes are in files of their own
// (see FileOf).
func (s Shape) frame() []byte {
	text := fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
`)
	for i := range shapeBackends {
		text = fmt.Appendf(text, `---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: b%[1]d}
spec: {type: Static, static: {hosts: [{host: 10.0.0.%[1]d, port: 80}]}}
`, i)
	}
	if !s.Delegated {
		return text
	}
	text = fmt.Appendf(text, `---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: teams}
spec:
  from:
`)
	for i := range Namespaces {
		text = fmt.Appendf(text, "  - {group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: team-%d}\n", i)
	}
	text = fmt.Appendf(text, `  to: [{group: gateway.kgateway.dev, kind: Backend}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root}
spec:
  parentRefs: [{name: eg}]
  hostnames:
`)
	for i := range s.Hosts {
		text = fmt.Appendf(text, "  - h%d.example.com\n", i)
	}
	text = append(text, "  rules:\n"...)
	for i := range Namespaces {
		text = fmt.Appendf(text, `  - matches: [{path: {value: /team-%[1]d}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: team-%[1]d}]
`, i)
	}
	return text
}

// place returns the namespace, hostname and path of the i-th route. The hostname is "" in a delegated shape.
func (s Shape) place(i int) (namespace, host, path string) {
	if !s.Delegated {
		return "default", fmt.Sprintf("h%d.example.com", i%s.Hosts), fmt.Sprintf("/r%d", i)
	}
	namespace = fmt.Sprintf("team-%d", i%Namespaces)
	return namespace, "", fmt.Sprintf("/%s/r%d", namespace, i)
}

// Route returns the text of the i-th route. Its filter sets a header to the revision.
func (s Shape) Route(i, revision int) []byte {
	namespace, host, path := s.place(i)
	text := fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%d, namespace: %s}
spec:
`, i, namespace)
	if host != "" {
		text = fmt.Appendf(text, "  parentRefs: [{name: eg}]\n  hostnames: [%s]\n", host)
	}
	return fmt.Appendf(text, `  rules:
  - matches: [{path: {value: %s}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-revision, value: "%d"}]}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b%d, namespace: default}]
`, path, revision, i%shapeBackends)
}

// Objects returns the objects of the folder in its first revision, as a Store would return them. The function
// route returns the i-th route in another revision. Objects parses only the first route and copies it, because
// parsing and validating 100,000 routes takes a minute. It returns an error if the first route is invalid.
func (s Shape) Objects() (all []*manifest.Object, route func(i, revision int) *manifest.Object, err error) {
	reader, err := store.New(store.Options{})
	if err != nil {
		return nil, nil, err
	}
	change := reader.Apply(Tree(map[string][]byte{"gateway.yaml": s.frame(), s.FileOf(0): s.Route(0, 0)}))
	namespace, _, _ := s.place(0)
	first := manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: namespace, Name: "r0"}
	var model *api.HTTPRoute
	for _, object := range change.Set {
		if object.Key == first {
			model, _ = manifest.As[*api.HTTPRoute](object)
			continue
		}
		all = append(all, object)
	}
	if model == nil {
		return nil, nil, fmt.Errorf("the shape's route is not read: %v", change.Problems)
	}
	route = func(i, revision int) *manifest.Object { return s.object(model, i, revision) }
	for i := range s.Routes {
		all = append(all, route(i, 0))
	}
	return all, route, nil
}

// object returns the i-th route in a revision, as a copy of model.
func (s Shape) object(model *api.HTTPRoute, i, revision int) *manifest.Object {
	namespace, host, path := s.place(i)
	from := model.Spec.Rules[0]
	backend := from.BackendRefs[0]
	backend.Name = gwv1.ObjectName(fmt.Sprintf("b%d", i%shapeBackends))
	filter, set, match := from.Filters[0], *from.Filters[0].RequestHeaderModifier, from.Matches[0]
	set.Set = []gwv1.HTTPHeader{{Name: set.Set[0].Name, Value: fmt.Sprint(revision)}}
	filter.RequestHeaderModifier = &set
	value := *match.Path
	value.Value, match.Path = &path, &value
	rule := from
	rule.BackendRefs, rule.Filters, rule.Matches = []gwv1.HTTPBackendRef{backend}, []gwv1.HTTPRouteFilter{filter}, []gwv1.HTTPRouteMatch{match}
	out := &api.HTTPRoute{TypeMeta: model.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("r%d", i), Generation: model.Generation}}
	out.Spec.CommonRouteSpec = model.Spec.CommonRouteSpec
	out.Spec.Rules = []api.HTTPRouteRule{rule}
	if host != "" {
		out.Spec.Hostnames = []gwv1.Hostname{gwv1.Hostname(host)}
	}
	return &manifest.Object{
		Key:  manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: namespace, Name: out.Name},
		Hash: sha256.Sum256(s.Route(i, revision)), Value: out,
	}
}
