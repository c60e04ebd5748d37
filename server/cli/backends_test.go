package cli

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// TestADeadBackendIsLeftOut kills one of two endpoints under load. Requests are lost
// without a policy, and for a while with one; where they are retried none is.
func TestADeadBackendIsLeftOut(t *testing.T) {
	s := startServed(t)
	const check = "  healthCheck: {timeout: 1s, interval: 100ms, unhealthyThreshold: 1, healthyThreshold: 1, "
	s.addPair("plain", "", "")
	s.addPair("checked", check+"http: {path: /healthz}}\n", "")
	s.addPair("connected", check+"tcp: {}}\n", "")
	s.addPair("ejected", "  outlierDetection: {consecutive5xx: 3, interval: 100ms, baseEjectionTime: 10m}\n", "")
	// Envoy gives up where more than 3 requests are retried at a time.
	s.addPair("retried", "  circuitBreakers: {maxRetries: 1000}\n", "    retry: {attempts: 1}\n")
	watched := []string{"checked", "connected", "ejected", "retried"}
	var targets []envoytest.Target
	for _, name := range append(watched, "plain") {
		s.waitFor(name, "a")
		s.waitFor(name, "b")
		targets = append(targets, s.target(name, "a", "b"))
	}

	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: targets})
	s.echoes["b"].Close()
	for _, name := range watched {
		envoytest.Wait(t, name+" to be answered without failures", func() error { return s.steady(name) })
	}
	result := load.Stop()
	t.Logf("on the way: %+v", result.Targets)
	if lost := result.Targets["retried"].Failed; lost > 0 {
		t.Errorf("%d requests with retries failed", lost)
	}

	result = envoytest.StartLoad(t, envoytest.LoadOptions{Targets: targets, Requests: 3000}).Wait()
	for name, count := range result.Targets {
		if (count.Failed > 0) != (name == "plain") {
			t.Errorf("afterwards, %d of %d requests to %s failed: %v", count.Failed, count.Requests, name, result.Failures)
		}
	}
}

// addPair adds a route to a back end of that name with the endpoints a and b. policy
// holds lines of a BackendConfigPolicy, rule lines of the route's rule.
func (s *served) addPair(name, policy, rule string) {
	s.write(name+".yaml", fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: %[1]s}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %[2]d}, {host: 127.0.0.1, port: %[3]d}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: BackendConfigPolicy
metadata: {name: %[1]s}
spec:
  targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[1]s}]
%[4]s---
`, name, s.echoes["a"].Port(), s.echoes["b"].Port(), policy)+s.route(name, name)+rule)
}

// steady fails when one of several requests to a route does.
func (s *served) steady(route string) error {
	for range 40 {
		response, err := envoytest.Try(s.request(route))
		if err == nil && response.Status != 200 {
			err = fmt.Errorf("status %d", response.Status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestAHashChoosesTheEndpoint sends requests of several users, by TrafficPolicy and
// BackendConfigPolicy: each user stays with one endpoint, and not all with the same.
func TestAHashChoosesTheEndpoint(t *testing.T) {
	s := startServed(t)
	s.addPair("hashed", "  loadBalancer: {ringHash: {}}\n", `---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: hashed}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: hashed}]
  hashPolicies: [{header: {name: x-user}}]
`)
	s.waitFor("hashed", "a")
	s.waitFor("hashed", "b")
	used := map[string]int{}
	for user := range 30 {
		request := s.request("hashed")
		request.Headers = http.Header{"X-User": {fmt.Sprint("user-", user)}}
		first := envoytest.Do(t, request).Backend
		used[first]++
		for range 5 {
			if again := envoytest.Do(t, request).Backend; again != first {
				t.Fatalf("user %d went to %q, then to %q", user, first, again)
			}
		}
	}
	if len(used) != 2 {
		t.Errorf("the endpoints of 30 users: %v", used)
	}
}
