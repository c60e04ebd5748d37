package explain_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// clientHeaders are the headers that Envoy 1.40 has names for, and some that it has none for.
var clientHeaders = strings.Fields(`
x-envoy x-envoy-anything-else x-envoy-attempt-count x-envoy-cluster x-envoy-decorator-operation x-envoy-degraded
x-envoy-downstream-service-cluster x-envoy-downstream-service-node x-envoy-expected-rq-timeout-ms x-envoy-external-address
x-envoy-fault-abort-request x-envoy-fault-delay-request x-envoy-force-trace x-envoy-hedge-on-per-try-timeout
x-envoy-immediate-health-check-fail x-envoy-internal x-envoy-ip-tags x-envoy-is-timeout-retry x-envoy-local-overloaded
x-envoy-max-retries x-envoy-original-dst-host x-envoy-original-host x-envoy-original-method x-envoy-original-path
x-envoy-original-url x-envoy-overloaded x-envoy-peer-metadata x-envoy-ratelimited x-envoy-retriable-header-names
x-envoy-retriable-status-codes x-envoy-retry-grpc-on x-envoy-retry-on x-envoy-upstream-alt-stat-name x-envoy-upstream-canary
x-envoy-upstream-healthchecked-cluster x-envoy-upstream-rq-per-try-timeout-ms x-envoy-upstream-rq-timeout-alt-response
x-envoy-upstream-rq-timeout-ms x-envoy-upstream-service-time x-envoy-upstream-stream-duration-ms
x-b3-traceid traceparent tracestate x-client-trace-id x-datadog-trace-id x-forwarded-client-cert x-forwarded-for
x-forwarded-host x-forwarded-port x-forwarded-proto x-ot-span-context x-request-id x-real-ip forwarded via keep-alive
proxy-connection te trailer upgrade http2-settings connection expect referer user-agent accept accept-encoding
accept-language cookie content-type content-encoding content-range range if-match if-none-match if-modified-since if-range
if-unmodified-since cache-control pragma authorization proxy-authorization proxy-status origin
access-control-request-method access-control-request-headers access-control-request-private-network grpc-timeout
grpc-accept-encoding date server early-data vary etag priority x-a x-mine x_under`)

// oddLines are header lines that Envoy treats in a way of their own.
var oddLines = []string{
	"connection: close", "connection: keep-alive", "connection: upgrade", "connection: x-mine, close", "connection: host", "connection: te",
	"connection: x-forwarded-for", "connection: :path", "connection: a,b,c,d,e,f,g,h,i", "connection: a,b,c,d,e,f,g,h,i,j", "connection: Content-Type",
	"connection: connection, x-a", "connection: x-forwarded-port", "connection: upgrade, x-mine", "upgrade: websocket", "upgrade: WebSocket",
	"upgrade: foo", "upgrade: h2c", "upgrade: connect-udp", "upgrade: websocket, foo", "upgrade:", "http2-settings: x", "te: trailers", "te: gzip", "te: trailers, gzip",
	"te: Trailers", "te: " + strings.Repeat("x", 256), "te:", "expect: 200-ok", "x-forwarded-proto: https", "x-forwarded-proto: HTTPS",
	"x-forwarded-proto:", "x-forwarded-proto: foo", "x-forwarded-for: 203.0.113.9", "x-forwarded-for: 1.1.1.1, 2001:DB8::1", "x-forwarded-for: junk",
	"x-forwarded-for:", "x-forwarded-for: 1.1.1.1:80", "referer: http://a.test/x", "referer: http://a.test/#f", "referer: http://u:p@a.test/",
	"referer: about:blank", "referer: a.test", "referer: /x#y", "referer: //a.test/x", "referer: http://@a.test", "referer: http://a_b.test/",
	"referer: http://[::1]:80/x", "referer: http://a.test:99999/", "referer: h2+x.y-z://a.test?x", "referer: http://", "referer: x:y", "referer: 2h://a.test",
	"referer: http://a.test/\u00e4", "referer: http://a.test:", "origin: null", "origin: http://a.test", "origin: https://a.test/x", "origin: //a.test",
	"origin: a.test", "origin: http://b.test", "origin: http://a.test:80", "origin: http://u@a.test", "origin: HTTP://a.test#x", "origin:",
	"content-type: application/grpc", "content-type: application/grpc+proto", "content-type: application/grpc-web", "content-type:",
	"content-length: 0", "content-length: 00", "content-length: +0", "content-length: x", "transfer-encoding: gzip",
	"access-control-request-method: GET", "x-a: \u00a0x", "x-a: \t x \t", "x-a: \u00c4B", "x-a: x\x01", "x-a: x\x7f", "x-a: x\ty", "accept:", "accept: x",
	"x-mine: 1",
}

// TestManagerIsWhatEnvoyDoes sends each header once, twice and empty, and odd requests at
// random: what a real Envoy answers, and what the backend receives, is what explain says.
func TestManagerIsWhatEnvoyDoes(t *testing.T) {
	const requests = 4000
	for _, hops := range []uint32{0, 1, 2} {
		view := managedView(freePort(t), hops)
		backend := uint32(envoytest.StartBackend(t, answerRaw))
		clusters := []*ir.Cluster{
			{Name: "raw", Endpoints: []ir.Endpoint{{Host: "127.0.0.1", Port: backend}}}, {Name: "empty"},
			{Name: "named", Discovery: ir.DNS, Endpoints: []ir.Endpoint{{Host: "localhost", Port: backend}}},
			{Name: "drained", Endpoints: []ir.Endpoint{{Host: "127.0.0.1", Port: backend, Draining: true}}},
		}
		c := startEnvoy(t, view.Gateways[0].Ports[0], clusters...)
		view.Clusters = map[string]*ir.Cluster{}
		for _, cluster := range clusters {
			view.Clusters[cluster.Name] = cluster
		}
		m := &managed{t: t, view: view, address: c.address}
		for _, name := range clientHeaders {
			for _, path := range []string{"/see", "/add", "/"} {
				m.ask("GET", path, "a.test", name+": 1")
				m.ask("GET", path, "a.test", name+": 1", name+": 2")
				m.ask("GET", path, "a.test", name+": x", name+":")
				m.ask("GET", path, "a.test", name+":", name+": x")
			}
		}
		m.askKnown()
		random := rand.New(rand.NewPCG(3, uint64(hops)))
		for range requests / 3 {
			m.askAnything(random)
		}
	}
}

// askKnown asks what chance hardly ever asks.
func (m *managed) askKnown() {
	for c := byte(' ' + 1); c < 0x7f; c++ {
		m.ask("GET", "/", "a.test", "referer: /x"+string(c))
	}
	m.ask("GET", "/", "a.test", "referer: /x,http://c.test/\u00e4")
	for _, te := range []string{"Trailers", "gzip, TRAILERS", "gzip", "", "trailers"} {
		m.ask("GET", "/", "a.test", "connection: te", "te: "+te)
		m.ask("GET", "/", "a.test", "te: "+te)
	}
	for _, length := range []string{"0", "00", "5"} {
		m.ask("CONNECT", "/", "a.test", "content-length: "+length)
	}
	m.ask("CONNECT", "/", "a.test", "transfer-encoding: chunked")
	for _, path := range []string{
		"/", "/.well-known/masque/udp/a.test/80/", "/.well-known/masque/udp/b.test/80/", "/.well-known/masque/udp/a.test/80",
		"/.well-known/masque/udp//80/", "/.well-known/masque/udp/a.test//", "/.well-known/masque/udp/a.test/80/?q", "/.well-known/masque/udp/a.test/80/x/",
		"/.well-known/masque/udp/a%2etest/80/", "/.well-known/masque/udp/2001:db8::1/80/", "/.well-known/masque/udp/a%zz/80/", "/.well-known/masque/udp/%61.test/0x/",
		"/.well-known/masque/udp/a%2ftest/80/", "/.well-known/masque/udp/a%20b/80/", "/.well-known/masque/udp/a.test/%38/", "/.well-known/masque/udp/%E4/8/", "/.well-known/masque/udp/a.test/x;y/",
	} {
		for _, connection := range []string{"close", "keep-alive", "upgrade", "x-a"} {
			m.ask("GET", path, "a.test", "connection: "+connection, "upgrade: Connect-UDP")
		}
	}
	for _, host := range []string{"[::1", "[::1:80", "[a]b:80", "[::1]:80", "[::1]", ":80", "a.test:", "a:80:80", "[::1]:"} {
		for _, path := range []string{"/redirect/own", "/redirect/port"} {
			m.ask("GET", path, host)
			m.ask("GET", path, host, "x-forwarded-proto: https")
		}
	}
	for _, host := range []string{"u@a.test", "a_b.test", "a.test:99999", "a.test:80", "[::1]:80", ""} {
		for _, origin := range []string{host, "http://" + host, "https://" + host, "http://a.test"} {
			m.ask("POST", "/csrf", host, "origin: "+origin, "content-length: 0")
		}
	}
}

// managed asks explain and Envoy the same.
type managed struct {
	t       *testing.T
	view    *ir.View
	address string
	wrong   int
}

func (m *managed) askAnything(random *rand.Rand) {
	var lines []string
	for range random.IntN(4) {
		if random.IntN(4) == 0 {
			lines = append(lines, one(random, clientHeaders...)+": "+one(random, "1", "", "x"))
		} else {
			lines = append(lines, one(random, oddLines...))
		}
	}
	if n := one(random, "", "", "", "", "", "", "", "", "many", "large"); n == "many" {
		for i := range 96 + random.IntN(5) {
			lines = append(lines, fmt.Sprintf("y-%d: 1", i))
		}
	} else if n == "large" {
		lines = append(lines, "y: "+strings.Repeat("y", 61440-120+random.IntN(140)))
	}
	method := one(random, "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "OPTIONS", "PATCH", "PURGE", "FOO", "get", "M-SEARCH", "CONNECT", "TRACE")
	host := one(random, "a.test", "a.test", "a.test", "a.test", "a.test:80", "a.test:8080", "A.test", "b.test", "a b", "a/b", "a^", "[::1]:80", "\u00e4.test", "a@b", "")
	path := one(random, "/", "/", "/see", "/timeout/x?y", "/retry", "/rewrite?x=1", "/prefix/x", "/host", "/csrf", "/csrf", "/cors", "/redirect", "/redirect/own", "/respond", "/auto/raw", "/auto/named", "/auto/own", "/auto/beside", "/auto/address", "/to/empty", "/to/drained", "/match", "/match",
		"/a#b", "/%00", "/50%-off", "/%zz", "/\u00e4", "/x\x01", "/a/../see", "/see?\\")
	m.ask(method, path, host, lines...)
}

// ask compares one request.
func (m *managed) ask(method, path, host string, lines ...string) {
	m.t.Helper()
	query := explain.Query{Scheme: "http", Host: host, Port: m.view.Gateways[0].Ports[0].Port.Port, Method: method, Path: path, Headers: http.Header{}}
	target := path
	if method == http.MethodConnect && path == "/" {
		target = "a.test:80"
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, host)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		query.Headers.Add(name, strings.Trim(value, " \t"))
		fmt.Fprintf(&head, "%s: %s\r\n", name, strings.Trim(value, " \t"))
	}
	answer := explain.Request(m.view, query)
	got := m.send(head.String() + "\r\n")
	if wrong := got.differs(answer); wrong != "" {
		m.wrong++
		m.t.Errorf("%s %s, Host %q, %.300q\n\t%s", method, path, host, lines, wrong)
	}
	if m.wrong > 20 {
		m.t.Fatal("too many differences")
	}
}

// exchanged is what came of a request.
type exchanged struct {
	status, grpc, location string
	reached                bool        // the backend answered
	received               http.Header // nil where it did not tell
	host, target           string
}

func (m *managed) send(request string) (out exchanged) {
	m.t.Helper()
	conn, err := net.Dial("tcp", m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		m.t.Fatal(err)
	}
	if _, err := conn.Write([]byte(request)); err != nil {
		m.t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		m.t.Fatalf("%q: %v", request, err)
	}
	defer response.Body.Close()
	out = exchanged{status: fmt.Sprint(response.StatusCode), grpc: response.Header.Get("grpc-status"), location: response.Header.Get("location")}
	if out.reached = response.Header.Get("x-received") != ""; !out.reached || strings.HasPrefix(request, "HEAD ") {
		return out
	}
	var body io.Reader = response.Body
	if response.StatusCode == http.StatusSwitchingProtocols {
		body = reader
	}
	text, err := io.ReadAll(body)
	if err != nil {
		m.t.Fatalf("%q: %v", request, err)
	}
	out.received = http.Header{}
	for i, line := range strings.Split(string(text), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); {
		case i == 0:
			out.target = strings.Fields(line)[1]
		case name == "host":
			out.host = value
		default:
			out.received.Add(name, value)
		}
	}
	return out
}

func (e exchanged) differs(answer explain.Answer) string {
	o := answer.Outcome
	status, grpc := fmt.Sprint(o.Status), ""
	switch {
	case o.GRPC:
		code, _ := explain.GRPCStatus(o.Status)
		status, grpc = "200", fmt.Sprint(code)
	case o.Status == 0:
		status = "200"
	}
	switch {
	case len(o.Unless) > 0:
		return ""
	case e.status == "101" && o.Status == 0:
	case e.status != status || e.grpc != grpc || e.location != o.Location:
		return fmt.Sprintf("explain says %s, grpc %q, location %q (%s); Envoy %+v", status, grpc, o.Location, o.Why, e)
	}
	if e.reached != (o.Status == 0) {
		return fmt.Sprintf("explain says backends %v; Envoy %+v", o.Backends, e)
	}
	if e.received == nil {
		return ""
	}
	if e.host != o.Backends[0].Host || e.target != o.Path {
		return fmt.Sprintf("explain says %s%s, the backend received %s%s", o.Backends[0].Host, o.Path, e.host, e.target)
	}
	return differentHeaders(o.Backends[0].Headers, e.received)
}

func differentHeaders(want, got http.Header) string {
	all := maps.Clone(want)
	maps.Copy(all, got)
	for name := range all {
		if !slices.EqualFunc(want[name], got[name], sameValue) {
			return fmt.Sprintf("%s: explain says %q, the backend received %q", name, want[name], got[name])
		}
	}
	return ""
}

var unknowns = strings.NewReplacer(regexp.QuoteMeta(explain.ClientAddress), `[0-9a-f.:]+`, regexp.QuoteMeta(explain.NewRequestID), `[0-9a-f-]{36}`)

func sameValue(want, got string) bool {
	return regexp.MustCompile(`(?s)^` + unknowns.Replace(regexp.QuoteMeta(want)) + `$`).MatchString(got)
}

// answerRaw tells each request's head in headers of its answer.
func answerRaw(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		var lines []string
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSuffix(line, "\r\n"); line == "" {
				break
			}
			lines = append(lines, line)
		}
		body := strings.Join(lines, "\r\n")
		status, length := "200 OK", fmt.Sprintf("content-length: %d\r\n", len(body))
		if slices.ContainsFunc(lines, func(l string) bool { return strings.EqualFold(l, "upgrade: websocket") }) {
			status, length = "101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket", ""
		}
		if strings.HasPrefix(body, "HEAD ") {
			body = ""
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\n%sx-received: yes\r\n\r\n%s", status, length, body)
		if length == "" {
			return
		}
	}
}

// managedView has rules that match, read and change the headers which Envoy writes.
func managedView(port, hops uint32) *ir.View {
	read := func(function string, name string) ir.Expr { return ir.Expr{Func: function, Text: name} }
	extras := &ir.Extras{}
	for _, name := range append(slices.Clone(clientHeaders), ":scheme", ":path", ":method", "host") {
		header := read("header", name)
		extras.Request = append(extras.Request, ir.HeaderChange{Kind: ir.SetHeader, Name: "z-" + strings.Trim(name, ":"), Value: ir.Template{
			{Text: "1"}, header, {Text: "2"}, {Func: "lower", Args: []ir.Expr{header}}, {Text: "3"}, {Func: "default", Text: "-", Args: []ir.Expr{header}},
		}})
	}
	framing := []string{
		"connection", "upgrade", "te", "content-length", "transfer-encoding", "keep-alive", "proxy-connection", "trailer", "http2-settings", "expect",
	}
	add := &ir.HeaderMods{Remove: []string{"x-mine"}, Set: []ir.Header{{Name: "x-a", Value: "set"}}}
	for _, name := range clientHeaders {
		switch {
		case slices.Contains([]string{"x-a", "x-mine"}, name), strings.Contains(name, "_"):
		case strings.HasPrefix(name, "x-envoy-"), slices.Contains(framing, name): // no filter may add them
		default:
			add.Add = append(add.Add, ir.Header{Name: name, Value: "added"})
		}
	}
	limit, short := 4*time.Second, 2*time.Second
	var rules []*ir.Rule
	rule := func(path string, change func(*ir.Rule)) {
		r := &ir.Rule{Name: path, Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: path}}, Action: ir.Action{
			Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "raw", Weight: 1}}},
		}}
		change(r)
		rules = append(rules, r)
	}
	rule("/timeout", func(r *ir.Rule) { r.Action.RequestTimeout = &limit })
	rule("/retry", func(r *ir.Rule) {
		r.Action.Retry, r.Action.RequestTimeout, r.Action.BackendTimeout = &ir.Retry{Attempts: 2}, &limit, &short
	})
	rule("/see", func(r *ir.Rule) { r.Action.Extras = extras })
	rule("/add", func(r *ir.Rule) { r.Action.RequestHeaders = add })
	rule("/csrf", func(r *ir.Rule) { r.Action.Extras = &ir.Extras{CSRF: &ir.CSRF{Enabled: 100}} })
	rule("/cors", func(r *ir.Rule) { r.Action.CORS = &ir.CORS{Origins: []ir.StringMatch{{Value: "http://a.test"}}} })
	rule("/redirect/own", func(r *ir.Rule) {
		r.Action.Forward, r.Action.Redirect = nil, &ir.Redirect{Status: 301, Scheme: "https", Port: 443, PortLess: true}
	})
	rule("/redirect/port", func(r *ir.Rule) {
		r.Action.Forward, r.Action.Redirect = nil, &ir.Redirect{Status: 301, Scheme: "http", Port: 8443}
	})
	rule("/redirect", func(r *ir.Rule) {
		r.Action.Forward, r.Action.Redirect = nil, &ir.Redirect{Status: 302, Hostname: "b.test"}
	})
	rule("/respond", func(r *ir.Rule) { r.Action.Forward, r.Action.Respond = nil, &ir.Respond{Status: 500} })
	rule("/rewrite", func(r *ir.Rule) {
		r.Action.Rewrite = &ir.Rewrite{Hostname: "new.test", Path: &ir.PathChange{Full: true, Value: "/new"}}
	})
	rule("/prefix", func(r *ir.Rule) { r.Action.Rewrite = &ir.Rewrite{Path: &ir.PathChange{Prefix: "/prefix", Value: ""}} })
	rule("/host", func(r *ir.Rule) { r.Action.Forward.Backends[0].Rewrite = &ir.Rewrite{Hostname: "own.test"} })
	for _, name := range []string{"raw", "empty", "named", "drained"} {
		to := []ir.Backend{{Cluster: name, Weight: 1}}
		rule("/auto/"+name, func(r *ir.Rule) { r.Action.Forward.Backends, r.Action.Extras = to, &ir.Extras{AutoHost: true} })
		rule("/to/"+name, func(r *ir.Rule) { r.Action.Forward.Backends = to })
	}
	own := &ir.Rewrite{Hostname: "own.test"}
	auto := func(path string, backends ...ir.Backend) {
		rule("/auto/"+path, func(r *ir.Rule) { r.Action.Forward.Backends, r.Action.Extras = backends, &ir.Extras{AutoHost: true} })
	}
	auto("own", ir.Backend{Cluster: "named", Weight: 1, Rewrite: own}, ir.Backend{Cluster: "named", DNSName: "localhost"})
	auto("beside", ir.Backend{Cluster: "named", Weight: 1, DNSName: "localhost"}, ir.Backend{Cluster: "raw", Rewrite: own})
	auto("address", ir.Backend{Cluster: "raw", Weight: 1}, ir.Backend{Cluster: "raw", Rewrite: own})
	for i, match := range []ir.ValueMatch{
		{Name: "x-envoy-internal", Value: ".*", Regex: true}, {Name: "x-forwarded-proto", Value: "https"}, {Name: "connection", Value: ".*", Regex: true},
		{Name: "te", Value: "trailers"}, {Name: "accept", Value: "x"}, {Name: "x-a", Value: "x"}, {Name: "content-length", Value: "0"},
		{Name: "expect", Value: ".*", Regex: true}, {Name: "x-forwarded-for", Value: "junk"}, {Name: "x_under", Value: ".*", Regex: true}, {Name: "referer", Value: "http.*", Regex: true},
		{Name: "host", Value: "a.test:80"}, {Name: "x-envoy-external-address", Value: "1.1.1.1"}, {Name: "x-request-id", Value: ".+", Regex: true},
	} {
		rule("/match", func(r *ir.Rule) {
			r.Match.Headers = []ir.ValueMatch{match}
			r.Action.Forward, r.Action.Redirect = nil, &ir.Redirect{Status: 302, Hostname: fmt.Sprintf("match-%d.test", i)}
		})
	}
	rule("/", func(*ir.Rule) {})
	return &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{{
		Port: &ir.Port{
			Name: "n/g/http", Gateway: "n/g", Addresses: []string{"127.0.0.1"}, Port: port,
			Settings: ir.Settings{TrustedHops: hops}, Chains: []ir.Chain{{RouteConfig: "r"}},
		},
		Hosts: []ir.HostView{{Domain: "*", Rules: slices.Values(rules), Len: len(rules)}},
	}}}}}
}
