package envoytest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// static is an Envoy that sends everything to one backend, but for /direct,
// which it answers itself.
const static = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
static_resources:
  listeners:
  - name: main
    address: {socket_address: {address: %[1]q, port_value: %[2]d}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: main
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {path: /direct}
                direct_response: {status: 418}
              - match: {prefix: /}
                route: {cluster: echo}
  clusters:
  - name: echo
    load_assignment:
      cluster_name: echo
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %[3]d}}}}]}]
`

// startStatic returns the Envoy and the address of its listener.
func startStatic(t *testing.T, backend *EchoServer) (*Envoy, string) {
	t.Helper()
	host, port := LoopbackAddress(), FreePort(t)
	e := Start(t, Options{Config: fmt.Appendf(nil, static, host, port, backend.Port())})
	address := fmt.Sprintf("%s:%d", host, port)
	e.WaitListener(address)
	return e, address
}

func TestEnvoyProxiesToEcho(t *testing.T) {
	backend := Echo(t, "a", "")
	_, address := startStatic(t, backend)

	response := Do(t, Request{
		Address: address,
		Method:  http.MethodPost,
		Host:    "shop.example",
		Path:    "/a/./b%2Fc//d?q=%20",
		Headers: http.Header{"X-Two": {"1", "2"}},
		Body:    "body",
	})
	if response.Status != http.StatusOK || response.Backend != "a" {
		t.Errorf("status %d from %q, want 200 from a", response.Status, response.Backend)
	}
	echoed, err := response.Echoed()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := echoed.Method+" "+echoed.Host+" "+echoed.Path+" "+echoed.Query, "POST shop.example /a/./b%2Fc//d q=%20"; got != want {
		t.Errorf("the backend received %s, want %s", got, want)
	}
	if got := strings.Join(echoed.Headers["X-Two"], ","); got != "1,2" {
		t.Errorf("X-Two: %s, want 1,2", got)
	}
	if got := backend.Requests(); got != 1 {
		t.Errorf("the backend counted %d requests, want 1", got)
	}
}

func TestResponseWithoutBackend(t *testing.T) {
	_, address := startStatic(t, Echo(t, "a", ""))
	response := Do(t, Request{Address: address, Path: "/direct"})
	if response.Status != http.StatusTeapot || response.Backend != "" {
		t.Errorf("status %d from %q, want 418 from nobody", response.Status, response.Backend)
	}
	if _, err := response.Echoed(); err == nil {
		t.Error("a direct response was taken for that of a backend")
	}
}

func TestEnvoyAdmin(t *testing.T) {
	e, address := startStatic(t, Echo(t, "a", ""))
	e.WaitReady()
	if dump := e.ConfigDump(); !strings.Contains(dump, `"prefix": "/"`) {
		t.Errorf("the route is not in the dump:\n%s", dump)
	}
	Do(t, Request{Address: address})
	Do(t, Request{Address: address})
	Wait(t, "two requests in the statistics", func() error {
		if got := e.Stat("cluster.echo.upstream_rq_total"); got != 2 {
			return fmt.Errorf("%d requests", got)
		}
		return nil
	})
	if got := e.Stat("no.such.stat"); got != 0 {
		t.Errorf("a statistic that does not exist is %d", got)
	}
	if log := e.Log(); !strings.Contains(log, "starting main dispatch loop") {
		t.Errorf("the log does not tell of the start:\n%s", log)
	}
}

func TestEnvoyRestartsAndStops(t *testing.T) {
	e, address := startStatic(t, Echo(t, "a", ""))
	pid := e.Pid()
	e.Restart()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after a restart the old process is still there: %v", err)
	}
	e.WaitListener(address)
	if response := Do(t, Request{Address: address}); response.Backend != "a" {
		t.Errorf("after the restart: status %d from %q", response.Status, response.Backend)
	}
	e.Stop()
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("a stopped Envoy takes connections")
	}
}

func TestEnvoysRunBesideEachOther(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, address := startStatic(t, Echo(t, name, ""))
			if response := Do(t, Request{Address: address}); response.Backend != name {
				t.Errorf("status %d from %q, want %s", response.Status, response.Backend, name)
			}
		})
	}
}

func TestLoopbackAddressesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 510 {
		address := LoopbackAddress()
		ip := net.ParseIP(address)
		if ip == nil || !ip.IsLoopback() || seen[address] {
			t.Fatalf("%q is not another loopback address", address)
		}
		seen[address] = true
	}
}

// No two tests have the same port at a time, and no two processes.
func TestFreePortsDiffer(t *testing.T) {
	var here, elsewhere portPool
	seen := map[int]bool{}
	for range 3 * portBlock { // some of it in another process
		for _, pool := range []*portPool{&here, &elsewhere, &claimed} {
			port, err := pool.take()
			if err != nil || seen[port] {
				t.Fatalf("port %d, seen %t, %v", port, seen[port], err)
			}
			seen[port] = true
			defer pool.giveBack(port)
		}
	}
	for _, claim := range append(here.claims, elsewhere.claims...) {
		_ = claim.Close()
	}
	listener, err := listenOn(FreePort(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}

// A port that a test gave back is given again, once the others were; one that somebody
// else listens on is not.
func TestFreePortsComeBack(t *testing.T) {
	var pool portPool
	first, err := pool.take()
	if err != nil {
		t.Fatal(err)
	}
	occupied, err := listenOn(pool.free[0])
	if err != nil {
		t.Skip(err) // another program was faster
	}
	pool.giveBack(first)
	seen := map[int]bool{}
	for len(pool.claims) == 1 && !seen[first] {
		port, err := pool.take()
		if err != nil {
			t.Fatal(err)
		}
		seen[port] = true
	}
	if !seen[first] || seen[occupied.Addr().(*net.TCPAddr).Port] {
		t.Errorf("given were %v, back came %d, and %s is occupied", seen, first, occupied.Addr())
	}
	_ = occupied.Close()
	for _, claim := range pool.claims {
		_ = claim.Close()
	}
}
