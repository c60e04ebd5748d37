package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/health"
)

// TestADeadBackendIsLeftOut kills one of two endpoints under load. Requests are lost
// without a policy, and for a while with one; where they are retried none is. The status
// names the endpoint while Envoy does not use it, for the reason of each.
func TestADeadBackendIsLeftOut(t *testing.T) {
	s := startServed(t)
	const check = "  healthCheck: {timeout: 1s, interval: 100ms, unhealthyThreshold: 1, healthyThreshold: 1, "
	s.addPair("plain", "", "")
	s.addPair("checked", check+"http: {path: /healthz}}\n", "")
	s.addPair("connected", check+"tcp: {}}\n", "")
	s.addPair("ejected", "  outlierDetection: {consecutive5xx: 3, interval: 100ms, baseEjectionTime: 10m}\n", "")
	s.addPair("retried", "", "    retry: {attempts: 1}\n")
	watched := []string{"checked", "connected", "ejected", "retried"}
	var targets []envoytest.Target
	for _, name := range append(watched, "plain") {
		s.waitFor(name, "a")
		s.waitFor(name, "b")
		targets = append(targets, s.target(name, "a", "b"))
	}

	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: targets})
	s.wantUnhealthy(map[string]health.Reason{})
	dead := s.echoes["b"].Address()
	s.echoes["b"].Close()
	for _, name := range watched {
		envoytest.Wait(t, name+" to be answered without failures", func() error { return s.steady(name) })
	}
	s.wantUnhealthy(map[string]health.Reason{
		"checked": health.CheckFailed, "connected": health.CheckFailed, "ejected": health.Ejected,
	})
	for _, want := range []string{
		`\nedge-1 +default/eg +Backend default/checked +1 of 2 +` + dead + ` +its health check fails \(BackendConfigPolicy default/checked\)\n`,
		`\nedge-1 +default/eg +Backend default/ejected +1 of 2 +` + dead + ` +outlier detection ejected it \(BackendConfigPolicy default/ejected\)\n`,
	} {
		if code, text := s.status("text"); code != exitFindings || !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("exit code %d, and no line %s in\n%s", code, want, text)
		}
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

	// An ejection lasts for its time, whatever the endpoint does.
	s.echoes["b"] = envoytest.Echo(t, "b", dead)
	s.wantUnhealthy(map[string]health.Reason{"ejected": health.Ejected})
}

// wantUnhealthy waits until the status of the one Envoy names these backends and no
// others, each with the endpoint b and that reason.
func (s *served) wantUnhealthy(want map[string]health.Reason) {
	s.t.Helper()
	dead := s.echoes["b"].Address()
	envoytest.Wait(s.t, "the status to name the unhealthy endpoints", func() error {
		code, text := s.status("json")
		var list statusList
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Envoys) != 1 {
			return fmt.Errorf("exit code %d: %s", code, text)
		}
		envoy := list.Envoys[0]
		got := map[string]health.Reason{}
		for _, b := range envoy.Backends {
			if len(b.Unhealthy) == 1 && b.Unhealthy[0].Address == dead && b.Endpoints == 2 && b.Healthy == 1 &&
				b.Policies[0].Name == b.Object.Name {
				got[b.Object.Name] = b.Unhealthy[0].Reasons[0]
			}
		}
		if envoy.Node != "edge-1" || !maps.Equal(got, want) || len(got) != len(envoy.Backends) ||
			envoy.Healthy+envoy.NotChecked != envoy.Endpoints-len(want) || (code == exitFindings) != (len(want) > 0) {
			return fmt.Errorf("exit code %d: %+v", code, envoy)
		}
		return nil
	})
}

// status runs gatefold status.
func (s *served) status(format string) (code int, text string) {
	var stdout, stderr bytes.Buffer
	code = Main([]string{"status", "--admin-address", s.admin, "-o", format}, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// addPair adds a route to a backend of that name with the endpoints a and b. policy
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
