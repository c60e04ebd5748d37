package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/cases"
)

// kgateway, BackendConfigPolicy, loadBalancer.ringHash and maglev, hashPolicies: "If hash_policy is set, then route
// level hash policy will be ignored" (Envoy, ConsistentHashingLbConfig). Requests with one value stay on one endpoint,
// also where the route has hash policies of its own, and others spread; without hash policies of the backend, those of
// the route apply; connections of a TCPRoute follow the client's address.
func TestHashPoliciesOnARealEnvoy(t *testing.T) {
	var hosts []string
	for i := range 4 {
		hosts = append(hosts, fmt.Sprintf("{host: 127.0.0.1, port: %d}", envoytest.Echo(t, fmt.Sprint(i), "").Port()))
	}
	run := startCase(t, &cases.Case{Name: "hash"})
	run.apply(cases.Step{Files: map[string]string{"all.yaml": hashFolder(strings.Join(hosts, ", "))}})
	run.envoy.WaitListener(run.address + ":8080")
	run.envoy.WaitListener(run.address + ":9000")
	user := func(i int) envoytest.Request {
		return envoytest.Request{Headers: http.Header{"X-User": {fmt.Sprint(i)}}}
	}
	team := func(i int) envoytest.Request {
		return envoytest.Request{Headers: http.Header{"X-Team": {fmt.Sprint(i)}}}
	}
	session := func(i int) envoytest.Request {
		return envoytest.Request{Headers: http.Header{"Cookie": {fmt.Sprint("c=", i)}}}
	}
	from := func(i int) envoytest.Request { return envoytest.Request{From: fmt.Sprint("127.0.1.", i+1)} }
	for _, at := range []struct {
		name, port, path string
		by               func(int) envoytest.Request
		stays            bool
	}{
		{"maglev by header", "8080", "/header", user, true},
		{"maglev by another header", "8080", "/header", team, false},
		{"ringHash by cookie", "8080", "/cookie", session, true},
		{"ringHash by address", "8080", "/source", from, true},
		{"ringHash of the route", "8080", "/plain", team, true},
		{"ringHash of the route, by another header", "8080", "/plain", user, false},
		{"connections by address", "9000", "/", from, true},
	} {
		t.Run(at.name, func(t *testing.T) {
			used, moved := map[string]bool{}, false
			for value := range 100 {
				request := at.by(value)
				request.Address, request.Path = run.address+":"+at.port, at.path
				first, second := envoytest.Do(t, request).Backend, envoytest.Do(t, request).Backend
				used[first], used[second], moved = true, true, moved || first != second
			}
			if moved == at.stays || len(used) != len(hosts) {
				t.Errorf("requests with one value go to several endpoints: %v; those of all values to %v", moved, used)
			}
		})
	}
	request := envoytest.Request{Address: run.address + ":8080", Path: "/cookie"}
	set := envoytest.Do(t, request).Headers.Get("Set-Cookie")
	for _, part := range []string{"c=", "Max-Age=3600", "Path=/shop", "Secure", "SameSite=Lax"} {
		if !strings.Contains(set, part) {
			t.Errorf("a client without the cookie gets %q, without %s", set, part)
		}
	}
}

// hashFolder returns a folder with a Backend for each kind of hash policies, all with the same hosts, a path for each
// of them, whose route has the hash policy x-team, and a TCPRoute.
func hashFolder(hosts string) string {
	text := `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}, {name: tcp, port: 9000, protocol: TCP}]
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: eg, sectionName: tcp}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: source}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: team}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  hashPolicies: [{header: {name: x-team}}]
`
	rules := ""
	for name, balancer := range map[string]string{
		"header": "maglev: {hashPolicies: [{header: {name: x-user}}]}",
		"cookie": "ringHash: {hashPolicies: [{cookie: {name: c, ttl: 1h, path: /shop, secure: true, sameSite: Lax}}]}",
		"source": "ringHash: {minimumRingSize: 2048, hashPolicies: [{sourceIP: {}}]}",
		"plain":  "ringHash: {}",
	} {
		text += fmt.Sprintf(`---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: %[1]s}
spec: {static: {hosts: [%[2]s]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: BackendConfigPolicy
metadata: {name: %[1]s}
spec:
  targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[1]s}]
  loadBalancer: {%[3]s}
`, name, hosts, balancer)
		rules += fmt.Sprintf("\n  - {matches: [{path: {value: /%[1]s}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[1]s}]}", name)
	}
	return text + "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\nspec:\n  parentRefs: [{name: eg, sectionName: http}]\n  rules:" + rules + "\n"
}
