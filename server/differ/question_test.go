package differ

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// question is a request as explain and Envoy get it.
type question struct {
	id string
	// gateway is "namespace/name", "" where explain is to find it by the port.
	gateway string
	scheme  string
	name    string // of the URL: in https, what the handshake asks for
	port    uint32
	method  string
	target  string
	host    string // the Host header
	lines   []header
	body    int
	// foreign is true if a rule of another host would take the path.
	foreign bool
}

// url is the address that explain is asked about.
func (q *question) url() string {
	return fmt.Sprintf("%s://%s:%d%s", q.scheme, q.name, q.port, q.target)
}

// headers are those for explain, as its command takes them.
func (q *question) headers() []string {
	var out []string
	if q.host != fmt.Sprintf("%s:%d", q.name, q.port) {
		out = append(out, "Host: "+q.host)
	}
	for _, h := range q.lines {
		out = append(out, h.Name+": "+h.Value)
	}
	return out
}

func (q *question) add(name, value string) { q.lines = append(q.lines, header{name, value}) }

// patience is what Envoy and its backends have for an answer. A busy machine takes some seconds.
const patience = 60 * time.Second

// values are those of one header.
func (q *question) values(name string) []string {
	return (&received{Headers: q.lines}).values(name)
}

// request is what goes to Envoy.
func (q *question) request(address string) envoytest.Request {
	var b strings.Builder
	target := q.target
	if q.method == http.MethodConnect && target == "/" {
		target = q.host // what clients send for a URL without a path
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", q.method, target, q.host)
	for _, h := range q.lines {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	b.WriteString("\r\n" + strings.Repeat("x", q.body))
	out := envoytest.Request{Address: fmt.Sprintf("%s:%d", address, q.port), Method: q.method, Raw: []byte(b.String()), Timeout: patience}
	if q.scheme == "https" {
		out.TLS = &envoytest.TLS{ServerName: strings.TrimSuffix(q.name, ".")}
		if net.ParseIP(strings.Trim(q.name, "[]")) != nil {
			out.TLS.ServerName = ""
		}
	}
	return out
}

var (
	manyLetters = regexp.MustCompile(`x{100,}|y{100,}`)
	headerRuns  = regexp.MustCompile(`( -H "x-many-\d+: 1"){2,}`)
)

// String is the question as a user would ask it.
func (q *question) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", q.method, q.url())
	for _, h := range q.headers() {
		fmt.Fprintf(&b, " -H %q", h)
	}
	if q.body > 0 {
		fmt.Fprintf(&b, " and a body of %d bytes", q.body)
	}
	text := manyLetters.ReplaceAllStringFunc(b.String(), func(run string) string { return fmt.Sprintf("%c…(%d times)", run[0], len(run)) })
	return headerRuns.ReplaceAllString(text, " -H x-many-0…")
}

// ask makes a question to the world: mostly one that a rule takes, or nearly so.
func (w *world) ask(r *rand.Rand, id string) *question {
	port := one(r, w.served()...)
	q := &question{id: id, gateway: one(r, "", port.Port.Gateway), scheme: port.Port.Scheme(), port: port.Port.Port, method: "GET", target: "/"}
	query := explain.Query{Host: "nobody.test", Method: one(r, "GET", "GET", "GET", "POST", "HEAD", "PUT"), Path: "/a", Headers: http.Header{}}
	if hosts := served(port, r.IntN(12) == 0); len(hosts) > 0 {
		host := one(r, hosts...)
		if host.Domain != "*" {
			query.Host = strings.Replace(host.Domain, "*", one(r, "x", "y", "x.y"), 1)
		}
		if r.IntN(8) == 0 { // a path of another host, which this one may hide
			other := one(r, hosts...)
			q.foreign, host = other.Domain != host.Domain, other
		}
		if host.Len > 0 && r.IntN(10) > 0 {
			rule := nth(host, r.IntN(host.Len))
			cases.AimAt(r, &query, rule.Match)
			enlarge(r, &query, rule)
		}
	}
	q.method, q.target = query.Method, query.Path
	q.setHost(r, query.Host)
	for _, name := range slices.Sorted(maps.Keys(query.Headers)) {
		for _, value := range query.Headers[name] {
			switch name {
			case "Host":
				q.host = value
			case "Content-Length":
				q.body = 5
				if value == "40000" {
					q.body = 40_000
				}
				q.add(name, fmt.Sprint(q.body))
			default:
				q.add(name, matching(value))
			}
		}
	}
	if r.IntN(4) == 0 {
		q.target = odd(r, cases.Near(r, q.target))
	}
	for range r.IntN(4) {
		mutate(r, q)
	}
	if r.IntN(20) == 0 {
		signIn(r, q, w.namespace)
	}
	if q.method == http.MethodConnect { // it has the host in place of the path
		q.host = fmt.Sprintf("%s:%d", q.name, q.port)
	}
	for i := range q.lines {
		if r.IntN(8) == 0 {
			q.lines[i].Name = oddCase(r, q.lines[i].Name)
		}
	}
	q.add(idHeader, id)
	return q
}

// enlarge gives half of the requests that are sent again a body of which Envoy may keep too little.
func enlarge(r *rand.Rand, query *explain.Query, rule *ir.Rule) {
	if triesAgain(rule) && r.IntN(2) == 0 {
		query.Headers.Set("Content-Length", "40000")
	}
}

// served are the ports of the world's Gateways.
func (w *world) served() (ports []ir.PortView) {
	for _, gateway := range w.view.Gateways {
		ports = append(ports, gateway.Ports...)
	}
	return ports
}

// served are the hosts of a port that have rules, or all of them.
func served(port ir.PortView, all bool) []ir.HostView {
	return slices.DeleteFunc(slices.Clone(port.Hosts), func(host ir.HostView) bool { return host.Len == 0 && !all })
}

// matching is a value for a header match: of the few expressions of the generator, a
// text that they match.
func matching(value string) string {
	return strings.NewReplacer("1|2", "2", ".+", "b", "curl.*", "curl/8", ".*test.*", "http://a.test/x", "http.*", "http://a.test", ".*9.*", "9.9.9.9", "[^a]x", "äx").Replace(value)
}

// oddCase is a name in another case, which is the same header.
func oddCase(r *rand.Rand, name string) string {
	out := []byte(name)
	for i := range out {
		if r.IntN(2) == 0 {
			out[i] = bytes.ToUpper(out[i : i+1])[0]
		}
	}
	return string(out)
}

func nth(host ir.HostView, n int) *ir.Rule {
	for rule := range host.Rules {
		if n--; n < 0 {
			return rule
		}
	}
	return nil
}

// setHost sets the Host header and, mostly to the same, the name of the URL.
func (q *question) setHost(r *rand.Rand, host string) {
	q.name = host
	q.host = fmt.Sprintf("%s:%d", host, q.port)
	switch r.IntN(12) {
	case 0:
		q.host = host
	case 1:
		q.host = strings.ToUpper(host)
	case 2:
		q.host = host + one(r, ":80", ":443", ":1234")
	case 3:
		q.host, q.name = host+".", one(r, host, host+".")
	}
	if q.scheme == "https" && r.IntN(6) == 0 {
		q.name = one(r, "a.test", "b.test", "x.c.test", "other.test", "127.0.0.1", "y.x.c.test", "A.TEST", "z.y.x.c.test", "c.test", "[::1]")
	}
	if q.scheme == "http" && r.IntN(6) == 0 {
		q.name = "elsewhere.test"
	}
}

// odd is a target with something strange in it, once in a while.
func odd(r *rand.Rand, target string) string {
	if r.IntN(2) == 0 {
		return target
	}
	path, query, found := strings.Cut(target, "?")
	path += one(r, "%", "%zz", "%00", "//", "/..", "/../..", "/.", "/%2e%2e/x", "%2F", "%5C", `\`, ";x=1", "/..;/a", "ä", "|", "{}", "%C3%A4", "/;/", "%7e", "\"", "^", "*", "/./", "//x", "/.//..//x", "%2f..%2f", "/%2E", "%252F", "/...", "/..x", "/.;x=1/y", "%5c..%5c", "/a/../b", "+", "%20", "&", "=")
	if found {
		return path + "?" + query
	}
	return path + one(r, "", "", "?", "?q=1", "?q=a&q=1", "?q", "?a%20b=x", "?x=/../y", "?%", "?q=ä", "?q=1?2", "?a;q=1", `?\`, "?q=&q=1", "?=x&q=1", "?&&q=1", "?q==1", "?%71=1", "?q=1;e=x", "?e=", "?e", "?e=x&e=", "?p=1+2", "?p=1%2B2",
		"?q=a%26b", "?q=a&b", "?Q=1", "?q=1&Q=2", "?q=%31", "?q=1%00", "??q=1", "?q=1&", "?a+b=x", "?a%20b=x&a%20b=y")
}

// mutate changes one thing about a question.
func mutate(r *rand.Rand, q *question) {
	switch r.IntN(16) {
	case 0:
		q.method = one(r, "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PURGE", "PROPFIND", "MKCOL", "LINK", "REPORT", "FOO", "QUERY", "M-SEARCH", "POSTS", "get", "Get")
	case 1:
		q.host = one(r, "a.test/x", "a b", "ä.test", "[::1]", "[::1]:80", "127.0.0.1", "a.test:", "a.test:x", ".test", "*.c.test", "a.test.:80", "a_b.test", "u@a.test", "", "A.TEST", "x.C.test", "a.test,b.test", "a%2etest", "[::1", "a..test", "a.test:99999", "-a.test", "a.test:0", "[2001:db8::1]:8080", "[::ffff:127.0.0.1]", "::1", "[a.test]", "a.test..", "a.test.:8080", "x.y.x.c.test", "y.x.c.test.", ":8080", "a.test:080", "a.test:+80",
			"*.test", "a.test%00", "a.test;x", "a.test:80:80", "0x7f.1", "a%2Etest", "xn--bcher-kva.test", "a.test\t")
	case 2:
		q.preflight(r)
	case 3:
		q.origin(r)
	case 4:
		q.upgrade(r)
	case 5:
		q.add("content-type", one(r, "application/grpc", "application/grpc+proto", "application/grpc-web", "application/json", "Application/GRPC", ""))
	case 6:
		q.lengthy(r)
	case 7, 8:
		own := one(r, ownHeaders()...)
		q.add(own.Name, own.Value)
	case 9, 10, 11:
		for range 1 + r.IntN(2) {
			plain := one(r, plainHeaders()...)
			q.add(plain.Name, plain.Value)
		}
	case 12:
		hop := one(r, hopHeaders()...)
		q.add(hop.Name, hop.Value)
	case 13:
		q.add("x-token", one(r, "good", "good", "good", "bad"))
		q.add("x-user", "forged")
	case 14, 15:
		identify(r, q)
	}
	if r.IntN(5) == 0 {
		showToken(r, q)
	}
}

func (q *question) preflight(r *rand.Rand) {
	q.method = "OPTIONS"
	q.origin(r)
	q.add("access-control-request-method", one(r, "GET", "PUT", "DELETE", ""))
	if r.IntN(3) == 0 {
		q.add("access-control-request-headers", "x-token")
	}
}

// origin adds what CORS and CSRF look at.
func (q *question) origin(r *rand.Rand) {
	if r.IntN(3) == 0 {
		q.method = one(r, "POST", "PUT", "DELETE", "PATCH")
	}
	if r.IntN(4) > 0 {
		q.add("origin", one(r, "https://app.test", "https://x.b.test", "http://a.test", "http://"+q.host, "https://"+q.host, "null", "//a.test", "a.test", "", "https://app.other.test", "http://c.test", "http://APP.x", "https://app.test:443", "http://a.test/", "http://u@a.test", "http://[::1]", "http://"))
	}
	if r.IntN(3) == 0 {
		q.add("referer", one(r, "http://a.test/x", "http://"+q.host+"/x?y", "http://a.test/x#y", "http://u:p@a.test/x", "about:blank", "/x", "x", "https://app.test", "ftp://a.test/", "http://c.test/ä", "HTTP://a.test/", "http:///x", "http://a.test:80/x"))
	}
}

func (q *question) upgrade(r *rand.Rand) {
	q.add("connection", one(r, "Upgrade", "upgrade", "keep-alive, Upgrade", "Upgrade, x-a", "close"))
	q.add("upgrade", one(r, "websocket", "websocket", "WebSocket", "foo", "websocket, foo", "h2c", "TLS/1.0", "connect-udp"))
	if r.IntN(2) == 0 {
		q.add("sec-websocket-version", "13")
		q.add("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
	}
	if r.IntN(5) == 0 {
		q.add("http2-settings", "AAMAAABkAARAAAAAAAIAAAAA")
	}
}

// lengthy adds a body, or too much of something.
func (q *question) lengthy(r *rand.Rand) {
	switch r.IntN(5) {
	case 0, 1:
		if q.body == 0 {
			q.body = one(r, 3, 5, 20, 2000, 40_000)
			q.add("content-length", fmt.Sprint(q.body))
		}
	case 2:
		for i := range one(r, 30, 80, 95, 96, 97, 98, 99, 110) {
			q.add(fmt.Sprintf("x-many-%d", i), "1")
		}
	case 3:
		q.add("x-big", strings.Repeat("x", one(r, 1000, 40_000, 70_000)))
	case 4:
		q.target += one(r, "?", "&", "/") + strings.Repeat("y", one(r, 1000, 40_000, 70_000))
	}
}

// plainHeaders are those that Envoy passes on, or keeps in one line.
func plainHeaders() []header {
	return []header{
		{"x-a", "1"}, {"x-a", "2"}, {"X-A", "1"}, {"x-b", "b"}, {"x-b", ""}, {"x-in", "A"}, {"x-in", "ÄB"}, {"x-in", ""}, {"x-in", "\u00a0x"}, {"x-u", "äx"}, {"x-u", "\u2003äx"},
		{"accept", "text/html"}, {"accept", ""}, {"Accept", "*/*"}, {"user-agent", "curl/8"}, {"cookie", "a=1"}, {"cookie", "b=2"}, {"accept-encoding", "gzip"},
		{"x_c", "1"}, {"x_c", "2"}, {"x-gone", "1"}, {"x-set", "mine"}, {"authorization", "Basic x"}, {"cache-control", "no-cache"}, {"via", "p"}, {"x-forwarded-host", "a.test"},
		{"x-forwarded-port", "1"}, {"pragma", "x"}, {"if-match", "e"}, {"grpc-timeout", "1S"}, {"content-encoding", "gzip"}, {"x-rule", "mine"}, {"date", "x"}, {"server", "mine"},
		{"forwarded", "for=1.2.3.4"}, {"x-real-ip", "1.2.3.4"}, {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, {"tracestate", "a=b"}, {"x-b3-traceid", "1"},
		{"accept-language", "de"}, {"content-language", "de"}, {"range", "bytes=0-1"}, {"if-none-match", "e"}, {"trailer", "x"}, {"x-tab", "a\tb"}, {"x-ot-span-context", "1"}, {"alt-svc", "x"},
	}
}

// ownHeaders are those that Envoy writes, or believes nobody about.
func ownHeaders() []header {
	return []header{
		{"x-forwarded-proto", "https"}, {"x-forwarded-proto", "http"}, {"x-forwarded-proto", ""}, {"x-forwarded-proto", "HTTPS"}, {"x-forwarded-proto", "ftp"},
		{"x-forwarded-for", "203.0.113.9"}, {"x-forwarded-for", "9.9.9.9, 8.8.8.8"}, {"x-forwarded-for", ""}, {"x-forwarded-for", "junk"},
		{"x-request-id", "mine"}, {"x-request-id", "0af76519-16cd-43dd-8448-eb211c80319c"}, {"x-request-id", ""},
		{"x-envoy-internal", "true"}, {"x-envoy-external-address", "1.2.3.4"}, {"x-envoy-retry-on", "5xx"}, {"x-envoy-max-retries", "2"}, {"x-envoy-upstream-rq-timeout-ms", "5000"},
		{"x-envoy-expected-rq-timeout-ms", "1"}, {"x-envoy-original-path", "/x"}, {"x-envoy-anything-else", "1"}, {"x-envoy", "1"}, {"x-envoy-attempt-count", "3"},
		{"x-envoy-force-trace", "1"}, {"x-envoy-hedge-on-per-try-timeout", "true"}, {"x-envoy-decorator-operation", "x"}, {"x-envoy-original-host", "x"}, {"x-envoy-ip-tags", "x"},
		{"x-envoy-upstream-alt-stat-name", "x"}, {"x-envoy-upstream-rq-per-try-timeout-ms", "4000"}, {"x-envoy-retriable-status-codes", "500"}, {"x-envoy-is-timeout-retry", "true"},
		{"x-envoy-downstream-service-cluster", "x"}, {"x-envoy-downstream-service-node", "x"}, {"x-envoy-peer-metadata", "x"}, {"x-envoy-original-dst-host", "127.0.0.1:1"},
		{"x-envoy-retry-grpc-on", "cancelled"}, {"x-envoy-retriable-header-names", "x"}, {"x-envoy-upstream-stream-duration-ms", "1"}, {"x-envoy-upstream-rq-timeout-alt-response", "1"},
		{"x-envoy-degraded", "1"}, {"x-envoy-overloaded", "1"}, {"x-envoy-ratelimited", "1"}, {"x-envoy-immediate-health-check-fail", "1"}, {"x-envoy-upstream-canary", "true"},
		{"x-envoy-upstream-healthchecked-cluster", "x"}, {"x-envoy-upstream-service-time", "1"}, {"x-envoy-cluster", "x"},
		{"x-forwarded-client-cert", "x"}, {"x-client-trace-id", "x"}, {"X-Client", "root"}, {"x-client-trace-id", "y"}, {"proxy-status", "x"}, {"early-data", "1"}, {"x-amzn-trace-id", "x"},
	}
}

// hopHeaders are those about the connection.
func hopHeaders() []header {
	return []header{
		{"connection", "x-mine"}, {"connection", "x-a"}, {"connection", "close"}, {"connection", "keep-alive"}, {"connection", "host"}, {"connection", "x-forwarded-for"},
		{"connection", ""}, {"connection", "te"}, {"connection", "x-in, x-b"}, {"connection", "X-A"}, {"connection", "cookie"}, {"connection", "x-envoy-internal"}, {"connection", ":path"},
		{"connection", "x-forwarded-proto"}, {"connection", "content-type"}, {"x-mine", "1"}, {"keep-alive", "timeout=5"}, {"proxy-connection", "close"}, {"proxy-connection", "keep-alive"},
		{"te", "gzip"}, {"te", "trailers"}, {"te", "trailers, gzip"}, {"te", "Trailers"}, {"te", ""}, {"expect", "100-continue"}, {"expect", "x"}, {"expect", ""}, {"upgrade", "websocket"},
		{"upgrade", "h2c"}, {"http2-settings", "x"}, {"proxy-authenticate", "x"}, {"proxy-authorization", "x"},
	}
}
