package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// shape is a folder of HTTPRoutes of one rule and one match, each in a file of its own.
type shape struct {
	// Routes is how many there are, over all hosts.
	Routes int
	// Hosts is how many hostnames they are spread over.
	Hosts int
	// Delegated puts them into 16 namespaces, below one route whose 16 rules name each
	// namespace's routes by *.
	Delegated bool
	// Redirect has Envoy answer itself, with the revision in the answer.
	Redirect bool
}

// namespaces is how many rules one HTTPRoute may have at most.
const namespaces = 16

func (s shape) String() string {
	switch {
	case s.Delegated:
		return thousands(s.Routes) + " routes below one root"
	case s.Hosts == 1:
		return thousands(s.Routes) + " routes on one host"
	}
	return fmt.Sprintf("%s routes on %s hosts", thousands(s.Routes), thousands(s.Hosts))
}

func (s shape) host(i int) string { return fmt.Sprintf("h%d.example.com", i%s.Hosts) }

func (s shape) path(i int) string {
	if s.Delegated {
		return fmt.Sprintf("/t%02d/r%06d", i%namespaces, i)
	}
	return fmt.Sprintf("/r%06d", i)
}

func (s shape) namespace(i int) string {
	if s.Delegated {
		return fmt.Sprintf("n%02d", i%namespaces)
	}
	return "default"
}

// envoyName is the name of the route in Envoy.
func (s shape) envoyName(i int) string {
	leaf := fmt.Sprintf("HTTPRoute/%s/r%06d/0/0", s.namespace(i), i)
	if s.Delegated {
		return fmt.Sprintf("HTTPRoute/default/root/%d/0>%s", i%namespaces, leaf[len("HTTPRoute/"):])
	}
	return leaf
}

func (s shape) backend(i int) string { return fmt.Sprintf("b%d", i%50) }

// file is where route i stands. All lie in one folder, which is the dearest to list.
func (s shape) file(i int) string { return fmt.Sprintf("r%06d.yaml", i) }

// route is the text of route i.
func (s shape) route(i, revision int) []byte {
	parent, hostnames := "{name: eg}", fmt.Sprintf("\n  hostnames: [%s]", s.host(i))
	if s.Delegated {
		parent, hostnames = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: root, namespace: default}", ""
	}
	does := fmt.Sprintf(`filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-revision, value: "%08d"}]}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %s, namespace: default}]`, revision, s.backend(i))
	if s.Redirect {
		does = fmt.Sprintf("filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /revision/%08d}}}]", revision)
	}
	return fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%06d, namespace: %s}
spec:
  parentRefs: [%s]%s
  rules:
  - matches: [{path: {value: %s}}]
    %s
`, i, s.namespace(i), parent, hostnames, s.path(i), does)
}

// base is the text of all but the routes: the Gateway on address and port, backends, a
// grant for them, and the root of delegation.
func (s shape) base(address string, port int) []byte {
	text := fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, annotations: {gatefold.io/access-log: "off"}}
spec:
  gatewayClassName: gatefold
  addresses: [{value: %s}]
  listeners: [{name: http, port: %d, protocol: HTTP}]
`, address, port)
	for i := range 50 {
		text = fmt.Appendf(text, `---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: b%d}
spec: {type: Static, static: {hosts: [{host: 10.0.0.%d, port: 80}]}}
`, i, i)
	}
	if !s.Delegated {
		return text
	}
	text = append(text, s.grant()...)
	text = append(text, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root}
spec:
  parentRefs: [{name: eg}]
  hostnames: [h0.example.com]
  rules:
`...)
	for i := range namespaces {
		text = fmt.Appendf(text, `  - matches: [{path: {value: /t%02d}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: n%02d}]
`, i, i)
	}
	return text
}

// grant lets the routes of all namespaces refer to the backends.
func (s shape) grant() []byte {
	text := []byte(`---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: routes}
spec:
  to: [{group: gateway.kgateway.dev, kind: Backend}]
  from:
`)
	for i := range namespaces {
		text = fmt.Appendf(text, "  - {group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: n%02d}\n", i)
	}
	return text
}

// write fills a folder. With oneFile all routes stand in one file.
func (s shape) write(t testing.TB, folder, address string, port int) {
	t.Helper()
	put(t, filepath.Join(folder, "base.yaml"), s.base(address, port))
	for i := range s.Routes {
		put(t, filepath.Join(folder, s.file(i)), s.route(i, 0))
	}
}

// writeOne fills a folder with the same routes in one file.
func (s shape) writeOne(t testing.TB, folder, address string, port int) {
	t.Helper()
	put(t, filepath.Join(folder, "base.yaml"), s.base(address, port))
	var all []byte
	for i := range s.Routes {
		all = append(append(all, "---\n"...), s.route(i, 0)...)
	}
	put(t, filepath.Join(folder, "routes.yaml"), all)
}

func put(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
