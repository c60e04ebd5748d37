package server_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/cases"
)

// injected is a request that no route serves: one that a backend gets was smuggled past Envoy.
const injected = "GET /injected HTTP/1.1\r\nhost: a\r\n\r\n"

// smuggler is a client that means harm, and an innocent one beside it, on one Envoy with one
// backend. The routes serve /x, which the attacker asks for, and /calm.
type smuggler struct {
	t       *testing.T
	address string
	backend *rawBackend
	calm    *rawClient
	asked   int // requests of the innocent client
	passed  int // requests of the attacker that the backend got
}

func startSmuggler(t *testing.T) *smuggler {
	t.Helper()
	backend := startRawBackend(t)
	run := startCase(t, &cases.Case{Name: "smuggling"})
	run.apply(cases.Step{Files: map[string]string{
		"calm.yaml": hostileFolder(backend.port(), 1)["calm.yaml"],
		"x.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: x, namespace: default}
spec:
  parentRefs: [{name: eg}]
  rules: [{matches: [{path: {value: /x}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: named, namespace: default}
spec:
  parentRefs: [{name: eg}]
  hostnames: [named]
  rules: [{matches: [{path: {value: /named}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]
`,
	}})
	s := &smuggler{t: t, address: run.address + ":8080", backend: backend}
	run.envoy.WaitListener(s.address)
	return s
}

// attackers is how many variants are sent at the same time: Envoy needs a second to close a
// connection.
const attackers = 20

// attacks sends all variants, and checks after every few.
func (s *smuggler) attacks(names []string, attack func(name string)) {
	for group := range slices.Chunk(names, attackers) {
		var wait sync.WaitGroup
		for _, name := range group {
			wait.Go(func() { attack(name) })
		}
		wait.Wait()
		s.check(strings.Join(group, "; "))
	}
	if s.passed == 0 {
		s.t.Error("no request came to the backend: the test shows nothing")
	}
}

// attack sends bytes, with injected requests behind them, and reads until Envoy closes the
// connection. The last request asks for that, if Envoy gets so far.
func (s *smuggler) attack(name, text string) {
	client := dialRaw(s.t, s.address)
	_ = client.conn.SetDeadline(time.Now().Add(time.Minute))
	text += strings.Repeat(injected, 40) + "GET /x?end HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
	_, _ = io.WriteString(client.conn, text) // Envoy may close before the end
	if _, err := io.ReadAll(client.conn); err != nil && strings.Contains(err.Error(), "timeout") {
		s.t.Errorf("%s: Envoy waits for more", name)
	}
	_ = client.conn.Close()
}

// check sends two pipelined requests of the innocent client, which must get the answers to
// them, and looks at all that the backend got.
func (s *smuggler) check(name string) {
	s.t.Helper()
	if s.calm == nil {
		s.calm = dialRaw(s.t, s.address)
	}
	_ = s.calm.conn.SetDeadline(time.Now().Add(time.Minute))
	text := ""
	for i := range 2 {
		text += fmt.Sprintf("GET /calm?%d HTTP/1.1\r\nhost: a\r\n\r\n", s.asked+i)
	}
	if _, err := io.WriteString(s.calm.conn, text); err != nil {
		s.t.Fatal(err)
	}
	for range 2 {
		want := fmt.Sprintf("%s?%d", calmBody, s.asked)
		s.asked++
		response, err := http.ReadResponse(s.calm.r, nil)
		if err != nil {
			s.t.Fatalf("%s: the innocent client gets %v", name, err)
		}
		body, err := io.ReadAll(response.Body)
		if _ = response.Body.Close(); err != nil || response.StatusCode != 200 || string(body) != want {
			s.t.Errorf("%s: the innocent client gets %d %q and not %q (%v)", name, response.StatusCode, body, want, err)
		}
	}
	for _, got := range s.backend.take() {
		if strings.Contains(got.head, " /x") {
			s.passed++
		}
		if fault := ambiguity(got); fault != "" {
			s.t.Errorf("%s: the backend gets a request with %s: %q, body %q", name, fault, got.head, got.body)
		}
	}
}

// ambiguity returns what two readers of a request could take in two ways, or why the request
// was smuggled; "" for a sound one. It is stricter than RFC 9112: Envoy writes the request
// anew, and has no reason for anything odd.
func ambiguity(got rawRequest) string {
	line, rest, _ := strings.Cut(got.head, "\r\n")
	if !regexp.MustCompile(`^[A-Za-z]+ /(calm|x)[!-~]* HTTP/1\.1$`).MatchString(line) {
		return "an odd request line"
	}
	count := map[string]int{}
	for header := range strings.SplitSeq(strings.TrimSuffix(rest, "\r\n"), "\r\n") {
		if header == "" {
			continue
		}
		if !regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+: ?[^\x00-\x08\n-\x1f\x7f]*$").MatchString(header) {
			return "an odd header " + header
		}
		name, value, _ := strings.Cut(strings.ToLower(header), ":")
		value = strings.TrimSpace(value)
		name = strings.ReplaceAll(name, "_", "-")
		count[name]++
		switch {
		case name == "content-length" && !regexp.MustCompile(`^[0-9]+$`).MatchString(value),
			name == "transfer-encoding" && value != "chunked":
			return "an odd header " + header
		}
	}
	switch {
	case count["host"] != 1:
		return fmt.Sprintf("%d host headers", count["host"])
	case count["content-length"]+count["transfer-encoding"] > 1:
		return "two lengths"
	case strings.HasPrefix(got.fault, "chunk size"):
		return got.fault
	}
	return ""
}

// TestSmuggling sends requests whose length two readers may take in two ways (RFC 9112,
// section 11.2), each followed by others in the same bytes. Whatever Envoy takes them for,
// the backend gets none of them as a request of its own, none that is ambiguous, and the
// innocent client beside it its own answers.
func TestSmuggling(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	s := startSmuggler(t)
	variants := smugglings()
	s.attacks(slices.Sorted(maps.Keys(variants)), func(name string) { s.attack(name, variants[name]) })
}

// TestAmbiguity finds what a smuggled request looks like to a backend.
func TestAmbiguity(t *testing.T) {
	for _, text := range []string{
		injected, "GET /x HTTP/1.1\r\n\r\n", "GET /x HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", "GET /x y HTTP/1.1\r\nhost: a\r\n\r\n", "GET /x HTTP/1.1\r\nhost: a\r\nx : b\r\n\r\n",
		"GET /x HTTP/1.1\r\nhost: a\r\nx: a\ny: b\r\n\r\n", "GET /x HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\n\r\n", "GET /x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /x HTTP/1.1\r\nhost: a\r\ncontent-length: +0\r\n\r\n", "GET /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n", "GET /x HTTP/1.1\r\nhost: a\r\ntransfer_encoding: x\r\n\r\n0\r\n\r\n",
	} {
		if got, _ := readRaw(bufio.NewReader(strings.NewReader(text))); ambiguity(got) == "" {
			t.Errorf("nothing is found in %q", text)
		}
	}
	if got, _ := readRaw(bufio.NewReader(strings.NewReader("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\nx: \xff\r\n\r\na"))); ambiguity(got) != "" {
		t.Errorf("%q in a sound request", ambiguity(got))
	}
}

// TestOddHosts: a request with several hosts, or an empty one, is one for the name as it
// stands, which a route with hostnames does not serve (docs/reference/behaviour.md).
func TestOddHosts(t *testing.T) {
	s := startSmuggler(t)
	for _, test := range []struct {
		head string
		code int
	}{
		{"GET /named HTTP/1.1\r\nhost: named\r\n\r\n", 200},
		{"GET /named HTTP/1.1\r\nhost: named\r\nhost: b\r\n\r\n", 404},
		{"GET /named HTTP/1.1\r\nhost: b\r\nhost: named\r\n\r\n", 404},
		{"GET /named HTTP/1.1\r\nhost: named\r\nhost: named\r\n\r\n", 404},
		{"GET /named HTTP/1.1\r\nhost: \r\n\r\n", 404},
		{"GET /x HTTP/1.1\r\nhost: named\r\nhost: b\r\n\r\n", 200},
		{"GET http://named/named HTTP/1.1\r\nhost: b\r\n\r\n", 200},
		{"GET http://b/named HTTP/1.1\r\nhost: named\r\n\r\n", 404},
	} {
		client := dialRaw(t, s.address)
		_ = client.conn.SetDeadline(time.Now().Add(time.Minute))
		if code, _ := client.send(test.head); code != test.code {
			t.Errorf("%q is answered with %d and not %d", test.head, code, test.code)
		}
	}
}

// smugglings are the variants by name.
func smugglings() map[string]string {
	all := map[string]string{}
	add := func(name, headers, body string) {
		all[name] = "POST /x HTTP/1.1\r\nhost: a\r\n" + headers + "\r\n" + body
	}
	lengths := []string{"-1", "+5", "0x5", "5 5", "5,5", "5, 6", "5;", "", " ", "5\t", "\x0b5", "05", "5.0", "1e1", "18446744073709551616", "99999999999999999999999", "5\x00", "5\r", "five", "٥"}
	for _, length := range lengths {
		add(fmt.Sprintf("content-length %q", length), "content-length: "+length+"\r\n", "hello")
	}
	encodings := []string{
		"chunked", "Chunked", "xchunked", "chunked, identity", "identity, chunked", "chunked, chunked", "gzip, chunked", "identity", " chunked", "\tchunked", "\x0bchunked", "chunked\x00",
		"chunked;q=1", "\"chunked\"", "chunked,", ",chunked", "cow", "", "chunked\r\n x", "x\r\n chunked", "chu\x00nked", "chunked\xff", "c\r\nhunked", "chunked\n",
	}
	for _, encoding := range encodings {
		add(fmt.Sprintf("transfer-encoding %q", encoding), "transfer-encoding: "+encoding+"\r\n", "0\r\n\r\n")
		add(fmt.Sprintf("content-length and transfer-encoding %q", encoding), "content-length: 5\r\ntransfer-encoding: "+encoding+"\r\n", "0\r\n\r\n")
		add(fmt.Sprintf("transfer-encoding %q and content-length", encoding), "transfer-encoding: "+encoding+"\r\ncontent-length: 44\r\n", "0\r\n\r\n")
	}
	for name, header := range map[string]string{
		"space before the colon": "transfer-encoding : chunked", "tab before the colon": "transfer-encoding\t: chunked", "space before the name": " transfer-encoding: chunked",
		"NUL before the colon": "transfer-encoding\x00: chunked", "underscore": "transfer_encoding: chunked", "no space": "transfer-encoding:chunked", "bare LF before it": "x: a\ntransfer-encoding: chunked",
		"bare CR before it": "x: a\rtransfer-encoding: chunked", "CR CR LF before it": "x: a\r\r\ntransfer-encoding: chunked", "no colon": "transfer-encoding chunked", "quoted name": "\"transfer-encoding\": chunked",
		"folded name": "transfer-\r\n encoding: chunked", "VT before the name": "\x0btransfer-encoding: chunked", "two encodings": "transfer-encoding: chunked\r\ntransfer-encoding: identity", "two encodings, turned": "transfer-encoding: identity\r\ntransfer-encoding: chunked",
		"named by connection": "connection: transfer-encoding\r\ntransfer-encoding: chunked", "named by connection, length": "connection: content-length", "a BOM": "\xef\xbb\xbftransfer-encoding: chunked", "soft hyphen": "transfer\xadencoding: chunked",
	} {
		add("encoding: "+name, "content-length: 5\r\n"+header+"\r\n", "0\r\n\r\n")
		add("encoding alone: "+name, header+"\r\n", "0\r\n\r\n")
	}
	for name, header := range map[string]string{
		"two lengths": "content-length: 5\r\ncontent-length: 0", "two lengths, turned": "content-length: 0\r\ncontent-length: 5", "one length twice": "content-length: 5\r\ncontent-length: 5",
		"space before the colon": "content-length : 5", "underscore": "content_length: 5", "folded": "content-length:\r\n 5", "in upper case twice": "Content-Length: 5\r\nCONTENT-LENGTH: 6",
		"bare LF before it": "x: a\ncontent-length: 5", "bare CR before it": "x: a\rcontent-length: 5", "NUL in a value": "x: a\x00b\r\ncontent-length: 5", "control characters": "x: \x01\x02\x7f\r\ncontent-length: 5", "a control character in a name": "x\x01y: a\r\ncontent-length: 5",
	} {
		add("length: "+name, header+"\r\n", "hello")
	}
	for name, body := range map[string]string{
		"extension": "5;a=b\r\nhello\r\n0\r\n\r\n", "extension with LF": "5;a\nb\r\nhello\r\n0\r\n\r\n", "extension with CR": "5;a\rb\r\nhello\r\n0\r\n\r\n", "long extension": "5;" + strings.Repeat("a", 20000) + "\r\nhello\r\n0\r\n\r\n",
		"plus": "+5\r\nhello\r\n0\r\n\r\n", "minus": "-5\r\nhello\r\n0\r\n\r\n", "hex": "0x5\r\nhello\r\n0\r\n\r\n", "underscore": "5_0\r\nhello\r\n0\r\n\r\n", "zeros": "0000000000000000000005\r\nhello\r\n0\r\n\r\n", "overflow": "10000000000000005\r\nhello\r\n0\r\n\r\n", "overflow of f": "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
		"space before": " 5\r\nhello\r\n0\r\n\r\n", "space behind": "5 \r\nhello\r\n0\r\n\r\n", "bare LF": "5\nhello\n0\n\n", "bare CR": "5\rhello\r0\r\r", "no end of a chunk": "5\r\nhello0\r\n\r\n", "two bytes for the end": "5\r\nhelloXX0\r\n\r\n", "empty size": "\r\nhello\r\n0\r\n\r\n", "not a size": "z\r\n0\r\n\r\n", "LF behind the last": "0\n\n", "LF behind the last size": "0\n\r\n", "NUL": "5\x00\r\nhello\r\n0\r\n\r\n",
		"trailer of a length": "0\r\ncontent-length: 50\r\n\r\n", "trailer of an encoding": "0\r\ntransfer-encoding: chunked\r\n\r\n", "trailer of a host": "0\r\nhost: b\r\nx: a\r\n\r\n", "trailer with LF": "0\r\nx: a\n\nGET /injected HTTP/1.1\r\n\r\n", "trailer without a colon": "0\r\nGET /injected HTTP/1.1\r\n\r\n",
	} {
		add("chunks: "+name, "transfer-encoding: chunked\r\n", body)
	}
	lines := map[string]string{
		"GET with a body": "GET /x HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello", "GET with chunks": "GET /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "HEAD with a body": "HEAD /x HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
		"the body is a request": fmt.Sprintf("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%s", len(injected), injected), "a chunk is a request": fmt.Sprintf("POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(injected), injected),
		"expect": "POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\nhello", "expect without a body": "GET /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\r\n", "expect in odd letters": "POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-Continue, x\r\ncontent-length: 5\r\n\r\nhello", "expect of something": "POST /x HTTP/1.1\r\nhost: a\r\nexpect: x\r\ncontent-length: 5\r\n\r\nhello",
		"upgrade to h2c": "GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n", "upgrade to a WebSocket": "GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 12\r\nsec-websocket-key: x\r\n\r\n", "upgrade with a body": "POST /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\ncontent-length: 5\r\n\r\nhello",
		"absolute form": "GET http://b/x HTTP/1.1\r\nhost: a\r\n\r\n", "absolute form with a user": "GET http://a@b/x HTTP/1.1\r\nhost: a\r\n\r\n", "absolute form of another scheme": "GET https://b/x HTTP/1.1\r\nhost: a\r\n\r\n", "two hosts": "GET /x HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", "no host": "GET /x HTTP/1.1\r\n\r\n", "empty host": "GET /x HTTP/1.1\r\nhost: \r\n\r\n", "host with a space": "GET /x HTTP/1.1\r\nhost: a b\r\n\r\n", "host with a slash": "GET /x HTTP/1.1\r\nhost: a/b\r\n\r\n", "host with LF": "GET /x HTTP/1.1\r\nhost: a\nx: b\r\n\r\n",
		"CONNECT": "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n", "CONNECT to a path": "CONNECT /x HTTP/1.1\r\nhost: a\r\n\r\n", "TRACE": "TRACE /x HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello", "OPTIONS *": "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", "PRI": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "a method of small letters": "get /x HTTP/1.1\r\nhost: a\r\n\r\n",
		"HTTP/1.0": "GET /x HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n", "HTTP/1.0 with chunks": "POST /x HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n0\r\n\r\n", "HTTP/0.9": "GET /x\r\n", "HTTP/1.2": "GET /x HTTP/1.2\r\nhost: a\r\n\r\n", "HTTP/1.1 in small letters": "GET /x http/1.1\r\nhost: a\r\n\r\n",
		"two spaces": "GET  /x HTTP/1.1\r\nhost: a\r\n\r\n", "tabs": "GET\t/x\tHTTP/1.1\r\nhost: a\r\n\r\n", "a space in the path": "GET /x y HTTP/1.1\r\nhost: a\r\n\r\n", "a request in the path": "GET /x HTTP/1.1 HTTP/1.1\r\nhost: a\r\n\r\n", "LF in the path": "GET /x\nhost:a HTTP/1.1\r\nhost: a\r\n\r\n", "NUL in the path": "GET /x\x00 HTTP/1.1\r\nhost: a\r\n\r\n", "CR LF first": "\r\n\r\nGET /x HTTP/1.1\r\nhost: a\r\n\r\n", "%0d%0a in the path": "GET /x%0d%0a%0d%0aGET%20/injected HTTP/1.1\r\nhost: a\r\n\r\n", "a fragment": "GET /x#/../injected HTTP/1.1\r\nhost: a\r\n\r\n",
		"LF line ends": "GET /x HTTP/1.1\nhost: a\n\n", "CR line ends": "GET /x HTTP/1.1\rhost: a\r\r", "a long header line": "GET /x HTTP/1.1\r\nhost: a\r\nx: " + strings.Repeat("a", 100_000) + "\r\n\r\n", "many headers": "GET /x HTTP/1.1\r\nhost: a\r\n" + strings.Repeat("x: a\r\n", 5000) + "\r\n", "a long path": "GET /x" + strings.Repeat("a", 100_000) + " HTTP/1.1\r\nhost: a\r\n\r\n", "folded": "GET /x HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\n\r\n", "keep-alive": "GET /x HTTP/1.1\r\nhost: a\r\nkeep-alive: timeout=5\r\nproxy-connection: keep-alive\r\nte: trailers, chunked\r\ntrailer: content-length\r\n\r\n",
		"connection names host": "GET /x HTTP/1.1\r\nhost: a\r\nconnection: host\r\n\r\n", "connection names all": "POST /x HTTP/1.1\r\nhost: a\r\nconnection: close, content-length, host, transfer-encoding\r\ncontent-length: 5\r\n\r\nhello",
	}
	for name, text := range lines {
		all[name] = text
	}
	return all
}
