package explain_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/explain"
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
		{"GET", "http://a.test?x=/y", nil, "http a.test 80 GET /?x=/y map[]"},
		{"GET", "http://[::1]:81/", []string{"x-a: 1", "X-A:2", "host:b.test"}, "http b.test 81 GET / map[X-A:[1 2]]"},
		{"GET", "a.test/", nil, `the URL "a.test/" needs a scheme: http://HOST[:PORT]/PATH, or tcp, tls or udp://HOST:PORT`},
		{"GET", "ftp://a.test/", nil, `the URL "ftp://a.test/" needs a scheme: http://HOST[:PORT]/PATH, or tcp, tls or udp://HOST:PORT`},
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

// A request that is larger than Envoy takes is refused as Envoy refuses it, and
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
