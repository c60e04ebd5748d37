package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/ir"
)

// asked is a served folder whose routes ask one gRPC server.
type asked struct {
	*served
	service   *envoytest.Extension
	extension string // the server's "ip:port"
}

func startAsked(t *testing.T) *asked {
	s := &asked{served: startServed(t), extension: fmt.Sprintf("%s:%d", envoytest.LoopbackAddress(), envoytest.FreePort(t))}
	s.service = envoytest.StartExtension(t, "guard", s.extension)
	host, port, _ := strings.Cut(s.extension, ":")
	s.write("guard.yaml", fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: guard}
spec: {type: Static, static: {hosts: [{host: %s, port: %s}]}}
`, host, port))
	return s
}

// guard writes a route of that name and a policy for it with these two lines of
// spec: the policy's, and the GatewayExtension's.
func (s *asked) guard(name, policy, extension string) {
	s.write("extension-"+name+".yaml", fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: %[1]s}
spec:
  %[2]s
`, name, strings.ReplaceAll(extension, "GUARD", "grpcService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: guard}, requestTimeout: 10s}")))
	s.write(name+".yaml", s.route(name, "a"))
	s.write("policy-"+name+".yaml", fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: %[1]s}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %[1]s}]
  %[2]s
`, name, policy))
}

// answers waits until requests to a route get the status.
func (s *asked) answers(name string, status int, headers http.Header) *envoytest.Response {
	s.t.Helper()
	request := s.request(name)
	request.Headers = headers
	var response *envoytest.Response
	envoytest.Wait(s.t, fmt.Sprintf("/%s to be answered with %d", name, status), func() (err error) {
		if response, err = envoytest.Try(request); err == nil && response.Status != status {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
	return response
}

// good are the headers that the service lets pass.
func good() http.Header { return http.Header{"X-Token": {"good"}} }

// TestAServiceThatEnds ends the server that policies ask, and starts it again:
// failOpen says what happens in between.
func TestAServiceThatEnds(t *testing.T) {
	s := startAsked(t)
	const descriptors = "descriptors: [{entries: [{type: Header, header: x-id}]}]"
	s.guard("auth", "extAuth: {extensionRef: {name: auth}}", "extAuth: {GUARD, statusOnError: 503}")
	s.guard("auth-open", "extAuth: {extensionRef: {name: auth-open}}", "extAuth: {GUARD, failOpen: true}")
	s.guard("proc", "extProc: {extensionRef: {name: proc}}", "extProc: {GUARD, messageTimeout: 10s, failOpen: false}")
	s.guard("proc-open", "extProc: {extensionRef: {name: proc-open}}", "extProc: {GUARD, messageTimeout: 10s}")
	s.guard("limit", "rateLimit: {global: {extensionRef: {name: limit}, "+descriptors+"}}", "rateLimit: {GUARD, domain: a, timeout: 10s, failOpen: false}")
	s.guard("limit-open", "rateLimit: {global: {extensionRef: {name: limit-open}, "+descriptors+"}}", "rateLimit: {GUARD, domain: b, timeout: 10s}")

	running := func() {
		t.Helper()
		for _, name := range []string{"auth", "auth-open"} {
			s.answers(name, 401, nil)
			s.answers(name, 200, good())
		}
		for _, name := range []string{"proc", "proc-open"} {
			s.answers(name, 403, http.Header{"X-Refuse": {"yes"}})
			s.answers(name, 200, nil)
		}
		for _, name := range []string{"limit", "limit-open"} {
			s.answers(name, 429, http.Header{"X-Id": {"1"}})
			s.answers(name, 200, nil) // no descriptor, nothing to ask
		}
	}
	running()
	s.service.Close()
	s.answers("auth", 503, good())
	s.answers("proc", 500, nil)
	s.answers("limit", 500, http.Header{"X-Id": {"1"}})
	s.answers("auth-open", 200, nil)
	s.answers("proc-open", 200, http.Header{"X-Refuse": {"yes"}})
	s.answers("limit-open", 200, http.Header{"X-Id": {"1"}})
	s.service = envoytest.StartExtension(t, "guard", s.extension)
	running()
}

// TestAnEditOfAPolicyIsNoNewsForListeners edits a policy and its extension, and counts
// what Envoy was sent: routes, and no listener. Requests to another route go on.
func TestAnEditOfAPolicyIsNoNewsForListeners(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	s := startAsked(t)
	s.write("other.yaml", s.route("other", "b"))
	s.guard("auth", "extAuth: {extensionRef: {name: auth}}", "extAuth: {GUARD}")
	s.answers("auth", 401, nil)
	s.answers("other", 200, nil)
	_, port, _ := strings.Cut(s.address, ":")
	name := "default/eg/http-" + port
	table := ir.TableName(name, ir.FilterGeneration)
	sentListeners := func() uint64 { return s.envoy.Stat("listener_manager.lds.update_attempt") }
	sentRoutes := func() uint64 { return s.envoy.Stat("http." + name + ".rds." + table + ".update_attempt") }
	listeners, routes := sentListeners(), sentRoutes()

	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{s.target("other", "b")}})
	for i := range 10 {
		s.guard("auth", "extAuth: {extensionRef: {name: auth}, contextExtensions: {edit: x}}", "extAuth: {GUARD}")
		envoytest.Wait(t, "the context", func() error { return s.asks("edit=x") })
		s.guard("auth", "rateLimit: {global: {extensionRef: {name: auth}, descriptors: [{entries: [{type: Path}]}]}}",
			fmt.Sprintf("rateLimit: {GUARD, domain: edit-%d, timeout: 10s}", i))
		s.answers("auth", 429, good())
		s.guard("auth", "extProc: {extensionRef: {name: auth}}", "extProc: {GUARD, messageTimeout: 10s}")
		s.answers("auth", 403, http.Header{"X-Refuse": {"yes"}})
	}
	if result := load.Stop(); result.Failed > 0 || result.Requests == 0 {
		t.Errorf("%d of %d requests to another route failed: %v", result.Failed, result.Requests, result.Failures)
	}
	if now := sentListeners(); now != listeners {
		t.Errorf("listeners were sent %d times more", now-listeners)
	}
	if now := sentRoutes(); now == routes {
		t.Error("routes were not sent: nothing was seen of the edits")
	}
}

// asks fails unless the backend receives what the service said that it was asked.
func (s *asked) asks(want string) error {
	request := s.request("auth")
	request.Headers = good()
	response, err := envoytest.Try(request)
	if err != nil {
		return err
	}
	echoed, err := response.Echoed()
	if got := echoed.Headers.Get("X-Asked"); err == nil && got != want {
		err = fmt.Errorf("asked %q", got)
	}
	return err
}
