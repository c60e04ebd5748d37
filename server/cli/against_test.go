package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/expect"
)

// TestLinesAreSentToARealEnvoy compares the verdicts of lines that are right, wrong, or about what no
// client sees.
func TestLinesAreSentToARealEnvoy(t *testing.T) {
	s := newCertified(t, "")
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	_, secure, _ := net.SplitHostPort(s.secure)
	mute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(mute.Close)
	s.write("mute.yaml", strings.ReplaceAll(s.backend("mute", "a"), fmt.Sprint(s.echoes["a"].Port()), mute.URL[strings.LastIndex(mute.URL, ":")+1:])+"---\n"+s.route("mute", "mute"))
	s.write("more.yaml", `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: more}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /old}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: new.example.com, port: 80, statusCode: 301}}]
  - matches: [{path: {value: /split}}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-owner, value: shop}], remove: [x-env]}}
    - {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-frame-options, value: DENY}]}}
    - {type: URLRewrite, urlRewrite: {hostname: inner.example.com, path: {type: ReplacePrefixMatch, replacePrefixMatch: /in}}}
    backendRefs:
    - {group: gateway.kgateway.dev, kind: Backend, name: a}
    - {group: gateway.kgateway.dev, kind: Backend, name: b}
  - matches: [{path: {value: /gone}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: nobody}]
`)
	lines := []struct {
		verdict expect.Verdict
		line    string
	}{
		{expect.Passed, "GET http://any.example.com:8080/x//y?z -> default/a | path /x//y?z | host any.example.com:8080 | protocol HTTP/1.1"},
		{expect.Failed, "GET http://any.example.com:8080/x -> b"},
		{expect.Failed, "GET http://any.example.com:8080/x -> 404"},
		{expect.Failed, "GET http://any.example.com:8080/x -> closed"},
		{expect.Failed, "GET http://any.example.com:8080/x -> a | status 503"},
		{expect.Failed, "GET http://any.example.com:8080/x x-one:1 -> a | request x-one: -"},
		{expect.Passed, "GET http://any.example.com:8080/split/1 x-env:prod -> a=1 b=1 | request x-env: - | request x-owner: shop | response x-frame-options: DENY | path /in/1 | host inner.example.com"},
		{expect.Failed, "GET http://any.example.com:8080/split/1 -> a=1 b=1 | response x-frame-options: -"},
		{expect.Unknown, "GET http://any.example.com:8080/split/1 -> a=1 b=1 other=1"},
		{expect.Passed, "GET http://any.example.com:8080/old -> 301 http://new.example.com/old"},
		{expect.Failed, "GET http://any.example.com:8080/old -> 301 http://other.example.com/old"},
		{expect.Passed, "GET http://any.example.com:8080/none -> 404"},
		{expect.Passed, "GET http://any.example.com:8080/gone -> 500"},
		{expect.Unknown, "GET http://any.example.com:8080/gone -> 500 | by HTTPRoute default/more"},
		{expect.Failed, "GET http://any.example.com:8080/gone -> a"},
		{expect.Failed, "GET http://any.example.com:8080/mute -> 418"},
		{expect.Unknown, "GET http://any.example.com:8080/mute -> mute | status 418"},
		{expect.Failed, "GET http://any.example.com:8080/mute -> mute | status 200"},
		{expect.Unknown, "GET http://any.example.com:8080/mute -> mute | path /mute"},
		{expect.Passed, "GET http://any.example.com:8080/x HTTP2:on -> a"},
		{expect.Passed, "GET http://any.example.com:8080/x host:other.example.com -> a | host other.example.com"},
		{expect.Passed, "GET http://any.example.com:8080/x host:other.example.com HTTP2:on -> a | host other.example.com"},
		{expect.Passed, "POST http://any.example.com:8080/x BODY:100000 -> a | request content-length: 100000"},
		{expect.Passed, "GET https://shop.example.com:8443/x -> a | certificate shop.example.com"},
		{expect.Passed, "GET https://shop.example.com:8443/x HTTP2:on TLS:1.2 -> a"},
		{expect.Failed, "GET https://shop.example.com:8443/x -> a | certificate other.example.com"},
		{expect.Passed, "GET https://shop.example.org:8443/x -> closed"},
		{expect.Failed, "GET https://shop.example.org:8443/x -> a"},
		{expect.Unknown, "GET https://shop.example.com:8443/x CLIENT:ada@people -> a"},
		{expect.Passed, "GET http://any.example.com:8081/x -> closed"},
		{expect.Unknown, "GET http://any.example.com:8080/x FROM:192.0.2.7 -> a"},
		{expect.Unknown, "GET http://any.example.com:9999/x -> a"},
		{expect.Unknown, "udp://any.example.com:8080 -> a"},
		{expect.Passed, "tls://shop.example.org:8443 -> closed"},
		{expect.Unknown, "tls://shop.example.com:8443 -> a"},
	}
	var file strings.Builder
	for _, l := range lines {
		file.WriteString(l.line + "\n")
	}
	s.write("requests", file.String())
	s.start()
	s.waitFor("gone", "")
	s.waitFor("mute", "")
	free := fmt.Sprint(envoytest.FreePort(t))
	var stdout, stderr bytes.Buffer
	code := Main([]string{
		"test", s.folder, "-o", "json", "--against", "8080=" + net.JoinHostPort(host, port), "--against", "8443=" + net.JoinHostPort(host, secure),
		"--against", "8081=" + net.JoinHostPort(host, free), "--timeout", "30s",
	}, &stdout, &stderr)
	var report expect.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil || code != exitFindings || len(report.Lines) != len(lines) {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
	for i, got := range report.Lines {
		if got.Verdict != lines[i].verdict {
			t.Errorf("%s\n\t%s, want %s: got %s; %+v %+v", lines[i].line, got.Verdict, lines[i].verdict, got.Got, got.Differences, got.Doubts)
		}
	}
	if report.Coverage != nil || len(report.Against) != 3 {
		t.Errorf("coverage %+v, against %v", report.Coverage, report.Against)
	}
}

func TestTargetsOfLines(t *testing.T) {
	requests, _ := expect.Parse("requests", []byte("GET http://a:8080/ -> b\nGET https://a/ -> b\n"))
	for text, want := range map[string][2]string{
		"127.0.0.1":                   {"127.0.0.1:8080", "127.0.0.1:443"},
		"edge.example.com:9000":       {"edge.example.com:9000", "edge.example.com:9000"},
		"http://127.0.0.1:9000":       {"127.0.0.1:9000", ""},
		"https://edge.example.com/":   {"", "edge.example.com:443"},
		"8080=127.0.0.1:9000":         {"127.0.0.1:9000", ""},
		"443=[::1]:9443":              {"", "[::1]:9443"},
		"::1":                         {"[::1]:8080", "[::1]:443"},
		"http://a/b":                  {"error"},
		"x=127.0.0.1":                 {"error"},
		"0=127.0.0.1":                 {"error"},
		"127.0.0.1:99999":             {"error"},
		"":                            {"error"},
		"http://":                     {"error"},
		"8080=http://127.0.0.1:18080": {"127.0.0.1:18080", ""},
	} {
		target, err := parseTarget(text)
		if err != nil {
			if want[0] != "error" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		for i, r := range requests {
			got := ""
			if target.takes(r) {
				got = target.address(r)
			}
			if got != want[i] {
				t.Errorf("%q: line %d goes to %q, want %q", text, i, got, want[i])
			}
		}
	}
}
