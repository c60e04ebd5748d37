package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/explain"
)

// Policies change the Location of a redirect to an identity provider as explain says. A case cannot have these: it
// compares the whole Location, and the parameters of a login differ each time. policy-oauth2-location has the others.
func TestExplainKnowsTheLocationOfALogin(t *testing.T) {
	const redirect = `- filters: [{type: RequestRedirect, requestRedirect: {scheme: https, port: 443}}]`
	const forward = `- backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]`
	tests := []struct {
		name, rule, policy, path string
		want                     string // explain's
	}{
		{"plain", forward, "", "/", "https://idp.test:443/authorize?tenant=a"},
		{"port", redirect, "", "/", "https://idp.test/authorize?<parameters that Envoy adds>"}, // the port is that of the rule's redirect
		{"added", forward, "headerModifiers: {response: {add: [{name: Location, value: /b}]}}", "/", "https://idp.test:443/authorize?<parameters that Envoy adds>,/b"},
		{"read", forward, `transformation: {response: {set: [{name: Location, value: '/to?{{ header("location") }}'}]}}`, "/", "/to?https://idp.test:443/authorize?<parameters that Envoy adds>"},
		{"again", forward, `transformation: {response: {add: [{name: Location, value: '{{ header("location") }}'}]}}`, "/",
			"https://idp.test:443/authorize?<parameters that Envoy adds>,https://idp.test:443/authorize?<parameters that Envoy adds>"},
		{"over", redirect, "headerModifiers: {response: {set: [{name: Location, value: 'https://b.test:443/'}]}}", "/", "https://b.test:443/"},
		{"end", forward, "", "/logout", "https://idp.test/end"},
		{"ended", forward, "headerModifiers: {response: {add: [{name: Location, value: /b}]}}", "/logout", "https://idp.test/end?<parameters that Envoy adds>,/b"},
	}
	files := map[string]string{"login.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: login}
spec:
  oauth2:
    backendRef: {group: gateway.kgateway.dev, kind: Backend, name: a}
    authorizationEndpoint: https://idp.test:443/authorize?tenant=a
    tokenEndpoint: https://idp.test/token
    endSessionEndpoint: https://idp.test/end
    scopes: [openid]
    credentials: {clientID: shop, clientSecretRef: {name: shop}}
`, "secret.yaml": clientSecret("s3cret")}
	for _, test := range tests {
		files[test.name+".yaml"] = fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s}
spec:
  parentRefs: [{name: eg}]
  hostnames: [%[1]s.test]
  rules:
  %[2]s
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: %[1]s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %[1]s}]
  oauth2: {extensionRef: {name: login}}
  %[3]s
`, test.name, test.rule, test.policy)
	}
	run := startCase(t, &cases.Case{Name: "login-location"})
	run.apply(cases.Step{Files: files})
	run.envoy.WaitListener(run.address + ":8080")
	view := run.translator.Apply(store.Change{}).View()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := test.name + ".test"
			said := explain.Request(view, explain.Query{Scheme: "http", Host: host, Port: 8080, Method: http.MethodGet, Path: test.path}).Outcome
			if said.Location != test.want || said.Status != http.StatusFound {
				t.Errorf("explain says %d %q, want %q", said.Status, said.Location, test.want)
			}
			got := regexp.MustCompile(`\?(id_token_hint=&)?client_id=[^,]*`).ReplaceAllString(redirected(t, run, host, test.path), "?"+explain.LoginParameters)
			if strings.Contains(said.Why, "; Envoy adds the parameters of the log") {
				endpoint, _, _ := strings.Cut(said.Location, "?")
				said.Location = endpoint + "?" + explain.LoginParameters
			}
			if got != said.Location {
				t.Errorf("explain says %q (%s), Envoy redirects to %q", said.Location, said.Why, got)
			}
		})
	}
}

// redirected returns the Location of Envoy's answer to a request, when Envoy has the provider's secrets.
func redirected(t *testing.T, run *caseRun, host, path string) (location string) {
	t.Helper()
	envoytest.Wait(t, "a redirect", func() error {
		answer, err := envoytest.Try(envoytest.Request{Address: run.address + ":8080", Method: http.MethodGet, Host: host, Path: path})
		if err != nil {
			return err
		}
		if location = answer.Headers.Get("Location"); answer.Status != http.StatusFound {
			return fmt.Errorf("status %d", answer.Status)
		}
		return nil
	})
	return location
}
