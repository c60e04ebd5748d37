package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/cases"
)

// TestAccessLogNamesTheRoute holds Envoy's log to the form that a Gateway asks for: JSON,
// a line of text, or nothing (docs/design/gateways.md).
func TestAccessLogNamesTheRoute(t *testing.T) {
	for form, want := range map[string]string{
		"json": `"route":"HTTPRoute/default/r/0/0"`,
		"text": "8080/marked 200 - ",
		"off":  "",
	} {
		t.Run(form, func(t *testing.T) {
			run := startCase(t, &cases.Case{})
			run.apply(cases.Step{Files: map[string]string{"all.yaml": fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, annotations: {gatefold.io/access-log: %q}}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: eg}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
`, form)}})
			run.envoy.WaitListener(run.address + ":8080")
			envoytest.Do(t, envoytest.Request{Address: run.address + ":8080", Host: "x.example.com:8080", Path: "/marked?token=1"})
			run.envoy.Stop() // writes what is left
			log := run.envoy.Log()
			if strings.Contains(log, "token=1") || strings.Contains(log, "/marked") != (form != "off") || !strings.Contains(log, want) {
				t.Errorf("the log says:\n%s", log)
			}
		})
	}
}

// TestAccessLogNamesWhatCloses closes a route by an invalid policy: Envoy's log names the
// policy, and nothing for other requests.
func TestAccessLogNamesWhatCloses(t *testing.T) {
	run := startCase(t, &cases.Case{})
	run.apply(cases.Step{Files: map[string]string{"all.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: eg}]
  rules:
  - name: closed
    matches: [{path: {value: /closed}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]
  - matches: [{path: {value: /open}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: auth}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: closed}]
  jwtAuth: {extensionRef: {name: idp}}
`}})
	run.envoy.WaitListener(run.address + ":8080")
	for _, path := range []string{"/closed", "/open"} {
		envoytest.Do(t, envoytest.Request{Address: run.address + ":8080", Host: "x.example.com:8080", Path: path})
	}
	run.envoy.Stop() // writes what is left
	for line := range strings.Lines(run.envoy.Log()) {
		closed, open := strings.Contains(line, `"path":"/closed"`), strings.Contains(line, `"path":"/open"`)
		if closed && !(strings.Contains(line, `"closed_by":"TrafficPolicy default/auth"`) && strings.Contains(line, `"status":500`)) || open && !strings.Contains(line, `"closed_by":null`) {
			t.Errorf("the log says: %s", line)
		}
	}
	if log := run.envoy.Log(); !strings.Contains(log, "/closed") || !strings.Contains(log, "/open") {
		t.Errorf("the log lacks requests:\n%s", log)
	}
}

// TestAccessLogNamesTheRuleThatDenies denies requests by their address, with an answer of Envoy and
// with one of the policy.
func TestAccessLogNamesTheRuleThatDenies(t *testing.T) {
	run := startCase(t, &cases.Case{})
	run.apply(cases.Step{Files: map[string]string{"all.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: eg}]
  rules:
  - {name: plain, matches: [{path: {value: /plain}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}
  - {name: own, matches: [{path: {value: /own}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: plain}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: plain}]
  acl: {defaultAction: allow, rules: [{name: old office, cidrs: [127.0.0.0/8], action: deny}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: own}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: own}]
  acl: {defaultAction: allow, rules: [{name: old office, cidrs: [127.0.0.0/8], action: deny}], denyResponse: {statusCode: 404}}
`}})
	run.envoy.WaitListener(run.address + ":8080")
	for _, path := range []string{"/plain", "/own"} {
		answer := envoytest.Do(t, envoytest.Request{Address: run.address + ":8080", Host: "x.example.com:8080", Path: path})
		if path == "/own" && len(answer.Body) > 0 {
			t.Errorf("the answer of the policy has the body %q", answer.Body)
		}
	}
	run.envoy.Stop() // writes what is left
	if n := strings.Count(run.envoy.Log(), `"details":"rbac_access_denied_matched_policy[acl/old_office]"`); n != 2 {
		t.Errorf("%d of 2 requests have the rule:\n%s", n, run.envoy.Log())
	}
}
