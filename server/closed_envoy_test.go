package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/examples/echo/handler"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate/cases"
)

// closedFolder has a Gateway with these listeners besides that of a team, and a route of everything on all of them.
// more is a document more.
func closedFolder(t *testing.T, spec, more string, listeners ...string) cases.Step {
	t.Helper()
	certificate, key := envoytest.FixedAuthority(t, "one").Issue("shop.example.com")
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: c}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: |\n    " +
		strings.ReplaceAll(string(certificate), "\n", "\n    ") + "\n  tls.key: |\n    " + strings.ReplaceAll(string(key), "\n", "\n    ") + "\n"
	gateway := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s}\nspec:\n  gatewayClassName: gatefold\n"
	const https = "  - {name: team, port: 8443, protocol: HTTPS, hostname: team.example.org, tls: {certificateRefs: [{name: c}]}}\n  - {name: plain, port: 8090, protocol: HTTP}\n"
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: shop}\nspec:\n  parentRefs: [{name: eg}]\n" +
		"  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]\n"
	return cases.Step{Files: map[string]string{
		"secret.yaml": secret,
		"eg.yaml":     fmt.Sprintf(gateway, "eg") + spec + "  listeners:\n" + https + strings.Join(listeners, ""),
		"route.yaml":  route,
		"more.yaml":   more,
		"b.yaml":      "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b}\nspec: {type: Static, static: {hosts: [{host: 127.9.1.1, port: 80}]}}\n",
	}}
}

// denied denies everybody the route.
const denied = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: office}\nspec:\n" +
	"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]\n  acl: {defaultAction: deny, rules: [{cidrs: [192.0.2.0/24], action: allow}]}\n"

// https is a listener of HTTPS; a name of "" is every name.
func https(name string, port int) string {
	return fmt.Sprintf("  - {name: %[1]s, port: %[2]d, protocol: HTTPS, hostname: %[3]q, tls: {certificateRefs: [{name: c}]}}\n",
		"l-"+strings.Trim(strings.ReplaceAll(name, ".", "-"), "*-"), port, name)
}

func plainHTTP(port int) string {
	return fmt.Sprintf("  - {name: http, port: %d, protocol: HTTP}\n", port)
}

// The connections of a listener that is removed or changed are not served by its old table: requests on them get an
// answer without a backend, and the connection is closed. Those of another listener of the port go on, and get
// the policy of the same edit.
func TestTablesOfListenersThatGoAreClosed(t *testing.T) {
	const clients = "  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: \"\", kind: ConfigMap, name: ca}]}}}}\n"
	authority := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca}\ndata:\n  ca.crt: |\n    " +
		strings.ReplaceAll(string(envoytest.FixedAuthority(t, "one").PEM), "\n", "\n    ") + "\n"
	shop := https("*.example.com", 8443)
	for _, edit := range []struct {
		name          string
		before, after []string
		spec          string // of the Gateway afterwards
		port          string
		host          string
		want          int
		team          int // what the team's connection gets
	}{
		{"a narrower hostname", []string{shop}, []string{https("shop.example.com", 8443)}, "", "8443", "shop.example.com", 421, 403},
		{"a narrower hostname, another host", []string{shop}, []string{https("shop.example.com", 8443)}, "", "8443", "other.example.com", 404, 403},
		{"no hostname", []string{shop}, []string{strings.Replace(shop, `hostname: "*.example.com", `, "", 1)}, "", "8443", "shop.example.com", 421, 403},
		{"a port of its own", []string{shop}, []string{https("*.example.com", 9443)}, "", "8443", "shop.example.com", 404, 403},
		{"removed", []string{shop}, nil, "", "8443", "shop.example.com", 404, 403},
		{"the port is another listener's", []string{plainHTTP(8081)}, []string{https("shop.example.com", 8081)}, "", "8081", "shop.example.com", 421, 403},
		{"HTTP on another port", []string{plainHTTP(8081)}, []string{plainHTTP(8082)}, "", "8081", "shop.example.com", 404, 403},
		{"HTTP removed", []string{plainHTTP(8081)}, nil, "", "8081", "shop.example.com", 404, 403},
		{"certificates of clients", []string{shop}, []string{shop}, clients, "8443", "shop.example.com", 421, 421},
	} {
		t.Run(edit.name, func(t *testing.T) {
			run := startCase(t, &cases.Case{})
			run.apply(closedFolder(t, "", authority, edit.before...))
			old := run.dial(edit.port, edit.host)
			old.answers(t, edit.host, 200)
			team, other := run.dial("8443", "team.example.org"), run.dial("8090", "")
			team.answers(t, "team.example.org", 200)
			other.answers(t, "x", 200)

			run.apply(closedFolder(t, edit.spec, denied+authority, edit.after...))
			run.waitClosed()
			old.ends(t, edit.host, edit.want)
			team.answers(t, "team.example.org", edit.team)
			other.answers(t, "x", 403)
		})
	}
}

// A connection of HTTP/2 is not closed, but none of its requests reaches a backend.
func TestTablesAreClosedForHTTP2(t *testing.T) {
	run := startCase(t, &cases.Case{})
	run.apply(closedFolder(t, "", "", https("*.example.com", 8443), plainHTTP(8081)))
	tables := []*http2Kept{run.dialHTTP2("8443", "shop.example.com"), run.dialHTTP2("8443", "other.example.com"), run.dialHTTP2("8081", "x")}
	for _, c := range tables {
		c.answers(t, 200)
	}
	run.apply(closedFolder(t, "", "", https("shop.example.com", 8443)))
	run.waitClosed()
	for i, want := range []int{421, 404, 404} {
		tables[i].answers(t, want)
	}
}

// http2Kept is a connection of HTTP/2 that stays, and the host that its requests are for.
type http2Kept struct {
	*http2.ClientConn
	url string
}

// dialHTTP2 opens a connection like dial, which speaks HTTP/2.
func (run *caseRun) dialHTTP2(port, host string) *http2Kept {
	run.t.Helper()
	var c net.Conn
	scheme := "http"
	if port >= "8443" {
		scheme = "https"
		c = run.openTLS(run.address+":"+port, host, http2.NextProtoTLS)
	} else {
		c = run.dial(port, host)
	}
	client, err := (&http2.Transport{AllowHTTP: true}).NewClientConn(c) //nolint:staticcheck // net/http has no connection over one that is open
	if err != nil {
		run.t.Fatal(err)
	}
	return &http2Kept{client, scheme + "://" + host + "/"}
}

// answers sends a request on the connection, which must get the status, of a backend if it is 200.
func (c *http2Kept) answers(t *testing.T, status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, c.url, status, func() (*http.Response, error) { return c.RoundTrip(request) })
}

// wantAnswer sends a request, of which the response must have the status, and be that of a backend if the status is
// 200. It sends again while a backend answers and none should: Envoy acknowledges a table before its workers have it.
func wantAnswer(t *testing.T, what string, status int, send func() (*http.Response, error)) {
	t.Helper()
	envoytest.Wait(t, fmt.Sprintf("%s to answer %d", what, status), func() error {
		response, err := send()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		backend := response.Header.Get(handler.BackendHeader) != ""
		if backend && status != 200 {
			return errors.New("a backend answers")
		}
		if response.StatusCode != status || backend != (status == 200) {
			t.Errorf("%s: status %d, by a backend: %t, want %d", what, response.StatusCode, backend, status)
		}
		return nil
	})
}

// dial opens a connection that stays, with TLS for a host unless the port is below 8443.
func (run *caseRun) dial(port, host string) *kept {
	run.t.Helper()
	at := run.address + ":" + port
	if port >= "8443" {
		return run.open(at, host)
	}
	run.envoy.WaitListener(at)
	c, err := net.Dial("tcp", at)
	if err != nil {
		run.t.Fatal(err)
	}
	run.t.Cleanup(func() { _ = c.Close() })
	return &kept{c, bufio.NewReader(c)}
}

// waitClosed waits until no table is still to be closed.
func (run *caseRun) waitClosed() {
	run.t.Helper()
	run.until("the tables to be closed", func() bool {
		for _, st := range run.audience("default/eg") {
			if !st.settled() || st.of(rds).Removing > 0 {
				return false
			}
		}
		return true
	})
}

// answers sends a request on the connection, which must get the status, of a backend if it is 200.
func (c *kept) answers(t *testing.T, host string, status int) {
	t.Helper()
	wantAnswer(t, host, status, func() (*http.Response, error) {
		if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
			return nil, err
		}
		return http.ReadResponse(c.reader, nil)
	})
}

// ends sends a request that must be answered with the status, and end the connection.
func (c *kept) ends(t *testing.T, host string, status int) {
	t.Helper()
	c.answers(t, host, status)
	if _, err := c.reader.ReadByte(); err != io.EOF && !strings.Contains(fmt.Sprint(err), "reset") {
		t.Errorf("the connection is not closed: %v", err)
	}
}

// The same when the whole Gateway goes, for an Envoy that speaks the state of the world, and for a gatefold that is
// away while the folder changes.
func TestTablesAreClosedWhateverTheStream(t *testing.T) {
	plainGateway := "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: two}\nspec:\n  gatewayClassName: gatefold\n" +
		"  listeners: [{name: http, port: 8071, protocol: HTTP}]\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: two}\nspec:\n  parentRefs: [{name: two}]\n" +
		"  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]\n"
	delta := func(xds string) envoytest.Options { return envoytest.Options{XDSAddress: xds} }
	world := func(xds string) envoytest.Options {
		config, err := envoy.Bootstrap(envoy.Options{XDSAddress: xds, AdminAddress: "127.0.0.1:0", NodeID: "world", NodeCluster: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return envoytest.Options{Config: []byte(strings.ReplaceAll(string(config), "DELTA_GRPC", "GRPC"))}
	}
	for _, way := range []struct {
		name     string
		envoy    func(xds string) envoytest.Options
		restarts bool
	}{{"incremental", delta, false}, {"state of the world", world, false}, {"restart", delta, true}, {"restart in the state of the world", world, true}} {
		t.Run(way.name, func(t *testing.T) {
			run := startCaseOf(t, &cases.Case{}, server.Options{}, way.envoy)
			run.apply(closedFolder(t, "", plainGateway, plainHTTP(8081)))
			gateway, listener, stays := run.dial("8071", ""), run.dial("8081", ""), run.dial("8090", "")
			for _, c := range []*kept{gateway, listener, stays} {
				c.answers(t, "x", 200)
			}
			after := closedFolder(t, "", denied)
			if way.restarts {
				run.restart(server.Options{})
			}
			run.apply(after)
			run.waitClosed()
			gateway.ends(t, "x", 404)
			listener.ends(t, "x", 404)
			stays.answers(t, "x", 403)
		})
	}
}
