package explain_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

func TestNewQuery(t *testing.T) {
	for _, c := range []struct {
		method, url string
		headers     []string
		want        string // or the error
	}{
		{"GET", "http://a.test", nil, "http a.test 80 GET / map[]"},
		{"GET", "https://a.test/?x", nil, "https a.test 443 GET /?x map[]"},
		{"POST", "http://A.test:8080//b/../c?d=e#f", nil, "http A.test:8080 8080 POST //b/../c?d=e map[]"},
		{"GET", "http://a.test:8080/50%-off?%zz", nil, "http a.test:8080 8080 GET /50%-off?%zz map[]"},
		{"GET", "http://a.test/%", []string{"x-a: \u00a0x\t"}, "http a.test 80 GET /% map[X-A:[\u00a0x]]"},
		{"GET", "http://a.test?x=/y", nil, "http a.test 80 GET /?x=/y map[]"},
		{"GET", "http://[::1]:81/", []string{"x-a: 1", "X-A:2", "host:b.test"}, "http b.test 81 GET / map[X-A:[1 2]]"},
		{"GET", "a.test/", nil, `the URL "a.test/" needs a scheme: http or https://HOST[:PORT]/PATH, ws or wss for a WebSocket, or tcp, tls or udp://HOST:PORT`},
		{"GET", "ftp://a.test/", nil, `the URL "ftp://a.test/" needs a scheme: http or https://HOST[:PORT]/PATH, ws or wss for a WebSocket, or tcp, tls or udp://HOST:PORT`},
		{"GET", "http:///x", nil, `the URL "http:///x" names no host`},
		{"GET", "http://a:0/", nil, "0 is not a port"},
		{"GET", "http://a:65536/", nil, "65536 is not a port"},
		{"", "http://a/", nil, `"" is not a method`},
		{"G T", "http://a/", nil, `"G T" is not a method`},
		{"GET", "http://a/", []string{"x y: 1"}, "the header \"x y: 1\" is not of the form 'name: value'"},
		{"GET", "http://a/", []string{"x: 1\ny"}, "the header x has a line break in its value"},
	} {
		q, err := explain.NewQuery(c.method, c.url, c.headers)
		got := fmt.Sprint(q.Scheme, " ", q.Host, " ", q.Port, " ", q.Method, " ", q.Path, " ", q.Headers)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.method, c.url, got, c.want)
		}
	}
}

// A request that is larger than Envoy takes is rejected as Envoy rejects it, and
// costs no comparison.
func TestTooLargeIsWhatEnvoyRefuses(t *testing.T) {
	view := randomView(rand.New(rand.NewPCG(1, 2)), freePort(t))
	port := view.Gateways[0].Ports[0]
	client := startEnvoy(t, port)
	many := http.Header{}
	for i := range 101 {
		many.Set(fmt.Sprint("x-", i), "1")
	}
	for name, query := range map[string]explain.Query{
		"a long header": {Path: "/", Headers: http.Header{"X-Long": {strings.Repeat("a", 61<<10)}}},
		"a long path":   {Path: "/" + strings.Repeat("a", 61<<10)},
		"many headers":  {Path: "/", Headers: many},
		"an ample one":  {Path: "/", Headers: http.Header{"X-Long": {strings.Repeat("a", 50<<10)}}},
	} {
		query.Host, query.Port, query.Method = "a.b.test", port.Port.Port, http.MethodGet
		want, got := explain.Request(view, query), client.send(query)
		if got.status != int(want.Outcome.Status) {
			t.Errorf("%s: Envoy answers %d, explain %d", name, got.status, want.Outcome.Status)
		}
		if refused := want.Outcome.Status == http.StatusRequestHeaderFieldsTooLarge; refused == (name == "an ample one") {
			t.Errorf("%s: status %d", name, want.Outcome.Status)
		}
		if got.status == http.StatusRequestHeaderFieldsTooLarge && client.conn != nil {
			client.conn.Close()
			client.conn = nil
		}
	}
}

// A WebSocket is a request over http or https with the headers of an upgrade.
func TestAWebSocketIsARequestWithAnUpgrade(t *testing.T) {
	for address, want := range map[string]string{"ws://a.test/x": "http 80", "WSS://a.test/x": "https 443", "wss://a.test:8443/x": "https 8443"} {
		q, err := explain.NewQuery("GET", address, []string{"x-a: 1"})
		if err != nil || fmt.Sprint(q.Scheme, " ", q.Port) != want || q.Headers.Get("Upgrade") != "websocket" || q.Headers.Get("Connection") != "Upgrade" {
			t.Errorf("%s: got %+v and %v", address, q, err)
		}
	}
	if q, err := explain.NewQuery("GET", "http://a.test/x", nil); err != nil || len(q.Headers) > 0 {
		t.Errorf("got %+v and %v", q, err)
	}
}

// The name of the URL is that of the handshake, and leads to a listener; Host leads to a
// virtual host there, or to one of another listener, which is answered with 421.
func TestTheHandshakeLeadsToTheListener(t *testing.T) {
	rule := prefixed("r", 0, "/")
	view := viewWith("a.test", rule)
	port := &view.Gateways[0].Ports[0]
	port.Port.Chains = []ir.Chain{{Name: "a.test", TLS: &ir.TLS{}}, {Name: "b.test", TLS: &ir.TLS{}}}
	port.Port.Port = 443
	port.Hosts[0].Chain = "a.test"
	for _, c := range []struct {
		url, host string
		outcome   explain.OutcomeKind
		status    uint32
	}{
		{"https://a.test/", "a.test", explain.Forwarded, 0},
		{"https://A.test/", "a.test:443", explain.Forwarded, 0},
		{"https://a.test/", "b.test", explain.Rejected, 421},
		{"https://b.test/", "a.test", explain.Rejected, 421},
		{"https://a.test/", "nobody.test", explain.NotFound, 404},
		{"https://a.test./", "a.test.", explain.NotFound, 404},
		{"https://a.test./", "a.test", explain.Forwarded, 0},
		{"https://c.test/", "a.test", explain.NoListener, 0},
	} {
		query, err := explain.NewQuery("GET", c.url, []string{"host: " + c.host})
		if err != nil {
			t.Fatal(err)
		}
		report, err := explain.Explain(explain.Facts{View: view}, query)
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != c.outcome || report.Status != c.status {
			t.Errorf("%s, Host %s: %s %d (%s)", c.url, c.host, report.Outcome, report.Status, report.Reason)
		}
	}
}
