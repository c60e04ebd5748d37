package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/cases"
)

// TestAccessLogNamesTheRoute holds Envoy's log to the form that a Gateway asks for: JSON,
// a line of text, or nothing (design section 4).
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
