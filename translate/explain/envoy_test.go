package explain_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// What explain says of random requests to a random table is what a real Envoy
// does: the same rule, the same status, the same Location.
func TestRequestIsWhatEnvoyDoes(t *testing.T) {
	const requests = 3000
	random := rand.New(rand.NewPCG(7, 11))
	view := randomView(random, freePort(t))
	port := view.Gateways[0].Ports[0]
	client := startEnvoy(t, port)
	hits, differences := 0, 0
	for range requests {
		query := randomQuery(random, port.Port.Port)
		want, got := explain.Request(view, query), client.send(query)
		if want.Rule != nil {
			hits++
		}
		if got != expected(want) {
			differences++
			t.Errorf("%s %s %s %v\n explain: %+v (path %q)\n Envoy:   %+v",
				query.Host, query.Method, query.Path, query.Headers, expected(want), want.Path, got)
		}
		if differences > 10 {
			t.Fatal("too many differences")
		}
	}
	if hits < requests/3 {
		t.Errorf("only %d of %d requests matched a rule: the table does not test much", hits, requests)
	}
}

// reply is what the two sides are compared by.
type reply struct {
	status   int
	rule     string
	location string
}

func expected(answer explain.Answer) reply {
	want := reply{status: int(answer.Outcome.Status), location: answer.Outcome.Location}
	if answer.Rule != nil {
		want.rule = answer.Rule.Name
	}
	return want
}

type client struct {
	t       *testing.T
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

// send writes the request as it is: http.Client would tidy the path.
func (c *client) send(query explain.Query) reply {
	c.t.Helper()
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			c.t.Fatal(err)
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	fmt.Fprintf(c.conn, "%s %s HTTP/1.1\r\nHost: %s\r\n", query.Method, query.Path, query.Host)
	for name, values := range query.Headers {
		for _, value := range values {
			fmt.Fprintf(c.conn, "%s: %s\r\n", name, value)
		}
	}
	fmt.Fprint(c.conn, "\r\n")
	response, err := http.ReadResponse(c.reader, &http.Request{Method: query.Method})
	if err != nil {
		c.t.Fatalf("%s %q: %v", query.Method, query.Path, err)
	}
	response.Body.Close()
	if response.Close || response.StatusCode == http.StatusBadRequest {
		c.conn.Close()
		c.conn = nil
	}
	return reply{response.StatusCode, response.Header.Get("x-rule"), response.Header.Get("Location")}
}

// startEnvoy serves a table as the server would, but for RDS: the routes are
// put into the listener.
func startEnvoy(t *testing.T, view ir.PortView, clusters ...*ir.Cluster) *client {
	t.Helper()
	var hosts []xds.Host
	for _, host := range view.Hosts {
		var routes [][]byte
		for rule := range host.Rules {
			body, problems := xds.Route(rule)
			if len(problems) > 0 {
				t.Fatalf("%s: %+v", rule.Name, problems)
			}
			routes = append(routes, body)
		}
		hosts = append(hosts, xds.VirtualHost(host.Domain, nil, routes))
	}
	var static envoytest.Static
	routes := &routev3.RouteConfiguration{}
	envoytest.Decode(t, xds.RouteConfiguration(view.Port.Chains[0].RouteConfig, hosts).Body, routes)
	static.AddListener(t, xds.Listener(view.Port).Body, routes)
	for _, cluster := range clusters {
		static.AddCluster(t, xds.Cluster(cluster).Body)
	}
	e := envoytest.Start(t, envoytest.Options{Config: static.Config(t)})
	address := fmt.Sprintf("127.0.0.1:%d", view.Port.Port)
	e.WaitListener(address)
	c := &client{t: t, address: address}
	t.Cleanup(func() {
		if c.conn != nil {
			c.conn.Close()
		}
	})
	return c
}

func freePort(t *testing.T) uint32 {
	t.Helper()
	return uint32(envoytest.FreePort(t))
}

func one(random *rand.Rand, values ...string) string { return values[random.IntN(len(values))] }

func randomView(random *rand.Rand, port uint32) *ir.View {
	var hosts []ir.HostView
	for _, domain := range []string{"*", "*.b.test", "*.test", "a.b.test", "empty.test"} {
		var rules []*ir.Rule
		for i := range 40 {
			if domain != "empty.test" {
				rules = append(rules, randomRule(random, fmt.Sprintf("%s/%d", domain, i)))
			}
		}
		hosts = append(hosts, ir.HostView{Domain: domain, Rules: slices.Values(rules), Len: len(rules)})
	}
	return &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{{
		Port:  &ir.Port{Name: "n/g/http", Gateway: "n/g", Addresses: []string{"127.0.0.1"}, Port: port, Chains: []ir.Chain{{RouteConfig: "r"}}},
		Hosts: hosts,
	}}}}}
}

func randomRule(random *rand.Rand, name string) *ir.Rule {
	rule := &ir.Rule{Name: name}
	switch random.IntN(4) {
	case 0:
		rule.Match.Path = ir.Path{Kind: ir.PathExact, Value: "/" + randomPath(random)}
	case 1:
		rule.Match.Path = ir.Path{Kind: ir.PathRegex, Value: one(random, "/a.*", "/[ab]/?", "/(b|B)/.*a", `/.*\.\..*`, "/a//+b", ".*%2F.*", "/a;.*")}
		rule.Match.Within = one(random, "", "/a", "/a/b")
	default:
		value := strings.TrimRight("/"+randomPath(random), "/")
		if value == "" {
			value = "/"
		}
		rule.Match.Path = ir.Path{Kind: ir.PathPrefix, Value: value}
	}
	rule.Match.Method = one(random, "", "", "GET", "POST")
	if random.IntN(3) == 0 {
		rule.Match.Headers = []ir.ValueMatch{{Name: one(random, "x-a", "user-agent", "cookie", "x_c", "host"), Value: one(random, "1", "1,2", "2", ".+", "a.b.test"), Regex: random.IntN(2) == 0}}
	}
	if random.IntN(3) == 0 {
		rule.Match.Query = []ir.ValueMatch{{Name: one(random, "q", "a%20b"), Value: one(random, "1", "a+b", "[a-z]"), Regex: random.IntN(2) == 0}}
	}
	rule.Action.ResponseHeaders = &ir.HeaderMods{Set: []ir.Header{{Name: "x-rule", Value: name}}}
	rule.Action.Respond = &ir.Respond{Status: 200}
	if random.IntN(3) == 0 {
		rule.Action.Respond, rule.Action.Redirect = nil, randomRedirect(random, rule.Match.Path)
	}
	return rule
}

func randomRedirect(random *rand.Rand, path ir.Path) *ir.Redirect {
	redirect := &ir.Redirect{
		Scheme: one(random, "", "http", "https"), Hostname: one(random, "", "", "new.test"),
		Status: []uint32{301, 302, 303, 307, 308}[random.IntN(5)], Port: []uint32{0, 0, 443, 8443}[random.IntN(4)],
	}
	if redirect.Hostname == "" && redirect.Port == 0 {
		redirect.Port, redirect.PortLess = 80, true
	}
	switch random.IntN(3) {
	case 0:
		redirect.Path = &ir.PathChange{Full: true, Value: one(random, "/", "/n", `/n\1`)}
	case 1:
		prefix := strings.TrimSuffix(path.Value, "/")
		if path.Kind != ir.PathPrefix {
			prefix = one(random, "", "/a", "/b")
		}
		redirect.Path = &ir.PathChange{Prefix: prefix, Value: one(random, "", "/n", "/n/m", `/n\1`)}
	}
	return redirect
}

func randomPath(random *rand.Rand) string {
	var parts []string
	for range random.IntN(3) {
		parts = append(parts, one(random, "a", "b", "B", "", "..%2F", "a;x"))
	}
	return strings.Join(parts, "/")
}

func randomQuery(random *rand.Rand, port uint32) explain.Query {
	query := explain.Query{
		Host: one(random, "a.b.test", "A.b.TEST", "x.b.test", "x.y.b.test", "b.test", "test", ".test", "z.test", "other", "empty.test", "a.b.test.", "[::1]") + one(random, "", "", ":80", ":1234"),
		Port: port, Method: one(random, "GET", "GET", "POST", "HEAD"), Path: "/", Headers: http.Header{},
	}
	for range random.IntN(5) {
		query.Path += one(random, "a", "b", "B", "", ".", "..", "...", "%2e", ".%2E", "%61", "%2F", "%2f..", "a;x", "..;x", ".;", "%2e;", "\\", "..\\", "%", "%zz", "%7e", "|", "a{b}", "%00", "..%2F", "#") + one(random, "/", "/", "/", "", "//")
	}
	query.Path += one(random, "", "", "", "?", "?q=1", "?q=a+b", "?q=b&q=1", "?a%20b=1", "?x;q=1", "?q", "?x=/../b&q=1", "?x=%00", "?q=1?2", "?\\")
	for _, name := range []string{"x-a", "user-agent", "cookie", "x_c"} {
		for range random.IntN(3) {
			query.Headers[name] = append(query.Headers[name], one(random, "1", "2"))
		}
	}
	return query
}
