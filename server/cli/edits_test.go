package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/watcher"
)

// served is a folder, gatefold serving it, and a real Envoy behind which echo
// backends answer: what a user has after `make run`.
type served struct {
	t       testing.TB
	folder  string
	address string // of the Gateway
	xds     string // where Envoys connect
	admin   string // gatefold's own pages
	echoes  map[string]*envoytest.EchoServer
	change  func(*serveOptions) // before it is served, if any
	stderr  io.Writer           // of serve; nil is the test's
	envoy   *envoytest.Envoy
}

// startServed serves a folder with a Gateway, backends a and b, and one route
// per name: the path prefix /NAME goes to backend a.
func startServed(t testing.TB, routes ...string) *served {
	t.Helper()
	s := newServed(t, routes...)
	host, _, _ := net.SplitHostPort(s.address)
	s.serve(host)
	for _, name := range routes {
		s.waitFor(name, "a")
	}
	return s
}

// newServed is startServed before anything runs.
func newServed(t testing.TB, routes ...string) *served {
	t.Helper()
	s := &served{t: t, folder: t.TempDir(), echoes: map[string]*envoytest.EchoServer{}}
	host, port := envoytest.LoopbackAddress(), envoytest.FreePort(t)
	s.address = fmt.Sprintf("%s:%d", host, port)
	s.write("gateway.yaml", fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  addresses: [{value: %s}]
  listeners: [{name: http, port: %d, protocol: HTTP}]
`, host, port))
	for _, name := range []string{"a", "b"} {
		s.addBackend(name, name)
	}
	for _, name := range routes {
		s.write(name+".yaml", s.route(name, "a"))
	}
	return s
}

// serve runs gatefold and Envoy until the test ends.
func (s *served) serve(host string) {
	s.xds = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(s.t)))
	s.admin = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(s.t)))
	o := serveOptions{watch: "auto", log: logOptions{format: "json", level: "error"}}
	o.folder.tree = watcher.DefaultLimits()
	o.server.XDSAddress, o.server.AdminAddress = s.xds, s.admin
	if s.change != nil {
		s.change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	stderr := s.stderr
	if stderr == nil {
		stderr = os.Stderr
	}
	go func() { ended <- o.run(ctx, s.folder, stderr) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
	s.envoy = envoytest.Start(s.t, envoytest.Options{
		XDSAddress: s.xds, NodeID: "edge-1", NodeCluster: "default/eg",
		AdminAddress: net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(s.t))),
	})
}

// write puts a file in place by rename, as git-sync and careful editors do.
func (s *served) write(name, text string) {
	s.t.Helper()
	temporary := filepath.Join(s.folder, "."+name)
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(s.folder, name)); err != nil {
		s.t.Fatal(err)
	}
}

// backend returns a Backend object of that name that leads to an echo backend,
// started when it is new.
func (s *served) backend(name, echo string) string {
	if s.echoes[echo] == nil {
		s.echoes[echo] = envoytest.Echo(s.t, echo, "")
	}
	return fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: %s}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
`, name, s.echoes[echo].Port())
}

func (s *served) addBackend(name, echo string) {
	s.write("backend-"+name+".yaml", s.backend(name, echo))
}

func (s *served) route(name, backend string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /%[1]s}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %[2]s}]
`, name, backend)
}

func (s *served) request(route string) envoytest.Request {
	return envoytest.Request{Address: s.address, Path: "/" + route}
}

// waitFor waits until a route is answered by a backend.
func (s *served) waitFor(route, backend string) {
	s.t.Helper()
	envoytest.Wait(s.t, fmt.Sprintf("/%s to be answered by %s", route, backend), func() error {
		response, err := envoytest.Try(s.request(route))
		if err == nil && response.Backend != backend {
			err = fmt.Errorf("status %d from %q", response.Status, response.Backend)
		}
		return err
	})
}

// target is a route under load. backends are the answers that are right, all
// of them when there are none.
func (s *served) target(route string, backends ...string) envoytest.Target {
	return envoytest.Target{Name: route, Request: s.request(route), Check: func(r *envoytest.Response) error {
		if r.Status != 200 || len(backends) > 0 && !strings.Contains(strings.Join(backends, " "), r.Backend) {
			return fmt.Errorf("status %d from %q", r.Status, r.Backend)
		}
		return nil
	}}
}

// TestEditsUnderLoadLoseNoRequest edits one route 100 times while requests run
// on kept-alive and on fresh connections to it and to others.
func TestEditsUnderLoadLoseNoRequest(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	s := startServed(t, "edited", "other", "third")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Rate:    1200,
		Targets: []envoytest.Target{s.target("edited", "a", "b"), s.target("other", "a"), s.target("third", "a")},
	})
	for i := range 100 {
		backend := []string{"b", "a"}[i%2]
		s.write("edited.yaml", s.route("edited", backend))
		s.waitFor("edited", backend)
	}
	wantNoFailure(t, load, 5_000)
}

// TestBackendSwapsUnderLoadLoseNoRequest replaces the backend of a route, and
// removes the one before, in one publication each: a new cluster, a new route
// and a removed cluster. (server's TestASwapWithoutPhasesLosesRequests shows
// that such a test can fail.)
func TestBackendSwapsUnderLoadLoseNoRequest(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	s := startServed(t, "other")
	swap := func(i int) {
		backend, echo := fmt.Sprint("swap", i), []string{"a", "b"}[i%2]
		s.write("swapped.yaml", s.backend(backend, echo)+"---\n"+s.route("swapped", backend))
		s.waitFor("swapped", echo)
	}
	swap(0)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{s.target("swapped", "a", "b"), s.target("other", "a")},
	})
	for i := range 50 {
		swap(i + 1)
	}
	wantNoFailure(t, load, 2_000)
}

// TestABrokenFileHurtsOnlyItsOwnObjects breaks one file in several ways while
// the other routes are under load, edits another meanwhile, and mends it.
func TestABrokenFileHurtsOnlyItsOwnObjects(t *testing.T) {
	s := startServed(t, "broken", "other", "third")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{s.target("broken", "a"), s.target("other", "a"), s.target("third", "a", "b")},
	})
	for i, text := range []string{
		"kind: [", "\xff\xfe", strings.ReplaceAll(s.route("broken", "b"), "backendRefs", "backendRef"),
		strings.ReplaceAll(s.route("broken", "b"), "/broken", "no-slash"), "a: &a [*a]\n",
	} {
		s.write("broken.yaml", text)
		backend := []string{"b", "a"}[i%2]
		s.write("third.yaml", s.route("third", backend))
		s.waitFor("third", backend)
		s.waitFor("broken", "a")
	}
	wantNoFailure(t, load, 500)
	s.write("broken.yaml", s.route("broken", "b"))
	s.waitFor("broken", "b")
}

// wantNoFailure ends the load, after so many requests at least, and wants none to have failed.
func wantNoFailure(t *testing.T, load *envoytest.Load, least int) {
	t.Helper()
	result := load.StopAfter(least)
	t.Log(result)
	if result.Failed > 0 || result.Requests < least {
		t.Fatalf("%d of %d requests failed, of at least %d", result.Failed, result.Requests, least)
	}
	for name, count := range result.Targets {
		if count.Requests == 0 {
			t.Errorf("no request to %s", name)
		}
	}
	if result.Fresh == 0 || result.Fresh == result.Requests {
		t.Errorf("%d of %d requests on fresh connections: both kinds are wanted", result.Fresh, result.Requests)
	}
}
