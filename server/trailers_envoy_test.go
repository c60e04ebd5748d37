package server_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/cases"
)

// A client's trailer with the name of an identity header does not reach a backend by HTTP/2, on a route without the
// policy; other trailers do, and so does that name on the route of another namespace. The user of basicAuth reaches a
// backend in no trailer, on any route. Of HTTP/1.1, Envoy passes no trailer on.
func TestIdentityTrailersAreRemoved(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan http.Header, 10)
	backend := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Trailer
	})}
	backend.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = backend.Serve(listener) }()
	t.Cleanup(func() { _ = backend.Close() })
	run := startCase(t, &cases.Case{Name: "trailers"})
	run.apply(cases.Step{Files: map[string]string{"all.yaml": trailersFolder(listener.Addr().(*net.TCPAddr).Port)}})
	run.envoy.WaitListener(run.address + ":8080")
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	for _, protocols := range []*http.Protocols{backend.Protocols, http1} {
		client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		for path, want := range map[string]http.Header{
			"/pub": {"X-Sum": {"1"}}, "/calm": {"X-Sum": {"1"}, "X-Partner": {"evil"}},
		} {
			if protocols == http1 {
				want = nil
			}
			sendTrailers(t, client, "http://"+run.address+":8080"+path)
			trailer := <-got
			maps.DeleteFunc(trailer, func(_ string, values []string) bool { return len(values) == 0 }) // announced, and not sent
			if !maps.EqualFunc(trailer, want, slices.Equal) {
				t.Errorf("%s by %v: the backend gets the trailers %v, want %v", path, protocols, trailer, want)
			}
		}
	}
}

// sendTrailers sends a request with the trailers of an attacker, and wants 200.
func sendTrailers(t *testing.T, client *http.Client, url string) {
	t.Helper()
	request, _ := http.NewRequest(http.MethodPost, url, io.NopCloser(strings.NewReader("body")))
	request.Trailer = http.Header{"X-Partner": {"evil"}, "X-Sum": {"1"}, "X-Envoy-Basic-Auth-User": {"root"}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d", url, response.StatusCode)
	}
}

// trailersFolder returns a folder with the routes /api, which has a policy, /pub of its namespace, and /calm of
// another. All lead to a port by HTTP/2.
func trailersFolder(port int) string {
	text := `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: keys, namespace: team}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: api}]
  apiKeyAuth: {secretRef: {name: missing}, clientIdHeader: x-partner}
`
	for namespace, rules := range map[string]string{"team": "{name: api, matches: [{path: {value: /api}}], %[1]s}, {matches: [{path: {value: /pub}}], %[1]s}", "calm": "{matches: [{path: {value: /calm}}], %[1]s}"} {
		text += fmt.Sprintf(`---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a, namespace: %s}
spec: {type: Static, static: {appProtocol: kubernetes.io/h2c, hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: %[1]s}
spec:
  parentRefs: [{name: eg, namespace: default}]
  rules: [%[3]s]
`, namespace, port, fmt.Sprintf(rules, "backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]"))
	}
	return text
}
