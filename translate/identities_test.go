package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
)

// keyedTeam returns a namespace with a backend, a route on a host of its own and, if it is not open, a policy that
// writes an identity header.
func keyedTeam(name string, open bool) string {
	text := fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a, namespace: %[1]s}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 3000}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: %[1]s}
spec:
  parentRefs: [{name: eg, namespace: default}]
  hostnames: [%[1]s.example.com]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]
`, name)
	if open {
		return text
	}
	return text + fmt.Sprintf(`---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: keys, namespace: %[1]s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  apiKeyAuth: {secretRef: {name: missing}, clientIdHeader: x-%[1]s}
`, name)
}

// A policy with an identity header runs the rules of its own team's routes, and not those of other teams.
func TestIdentityHeadersOfATeamRunNoRuleOfAnother(t *testing.T) {
	files := map[string]string{
		"gateway.yaml": gatewayAt("default", everywhere(8080, "HTTP")),
		"calm.yaml":    keyedTeam("calm", false), "open.yaml": keyedTeam("open", true), "team.yaml": keyedTeam("team", true),
	}
	w := newWorldWith(t, translate.Options{})
	w.apply(tree(files))
	files["team.yaml"] = keyedTeam("team", false)
	w.apply(tree(files))
	own := false
	for _, rule := range w.rebuilt {
		own = own || rule == "mounted HTTPRoute team/r"
		if strings.Contains(rule, "calm/") || strings.Contains(rule, "open/") {
			t.Errorf("%s runs again", rule)
		}
	}
	if !own {
		t.Errorf("these ran: %q", w.rebuilt)
	}
	w.checkCold(t)
}
