package xds

import (
	"regexp"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
)

// FuzzRoute puts any text wherever a rule takes one: it is rejected with a problem, or
// stands in a message that Envoy takes and that says what was written, nothing more.
func FuzzRoute(f *testing.F) {
	for _, seed := range []string{
		"/a", "100%", "%REQ(x)%", "a%%b", "x\r\nhost: y", "\x00", "\xff", `\1`, `\Q\E`, "(?i)a*", `\p{Greek}`, `\x{100}`, "(", "a{1000}", "host", ":path", "é",
		strings.Repeat("a", 1025), "[[:word:]]", `\pN`, `(?P<a>.)`, "/a?b#c", "",
	} {
		f.Add(seed, seed, seed, seed)
		f.Add("x-a", seed, "/a", "a.test")
		f.Add("x-a", "v", seed, "a.test")
	}
	long := strings.Repeat("q", maxHeaderValue+1)
	f.Add(long, long, long, long)
	f.Fuzz(func(t *testing.T, name, value, pattern, host string) {
		header := []ir.Header{{Name: name, Value: value}}
		mods := &ir.HeaderMods{Set: header, Add: header, Remove: []string{name}}
		backend := ir.Backend{Cluster: "c", Weight: 1, RequestHeaders: mods, ResponseHeaders: mods}
		match := ir.Match{
			Path: ir.Path{Kind: ir.PathRegex, Value: pattern}, Method: "GET",
			Headers: []ir.ValueMatch{{Name: name, Value: value}, {Name: name, Value: pattern, Regex: true}},
			Query:   []ir.ValueMatch{{Name: name, Value: value}, {Name: name, Value: pattern, Regex: true}},
		}
		rewrite := &ir.PathChange{Value: value}
		for _, rule := range []*ir.Rule{
			{Match: match, Action: ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{backend}}, RequestHeaders: mods, ResponseHeaders: mods}},
			{Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: pattern}}, Action: ir.Action{
				Rewrite: &ir.Rewrite{Hostname: host, Path: rewrite}, Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "c", Weight: 1}}}}},
			{Match: ir.Match{Path: ir.Path{Kind: ir.PathExact, Value: pattern}}, Action: ir.Action{
				Redirect: &ir.Redirect{Status: 301, Scheme: "http", Hostname: host, Path: rewrite}}},
		} {
			rule.Name, rule.Position, rule.Source = "r", []int{0, 0}, &ir.Origin{}
			body, problems := Route(rule)
			if len(problems) > 0 {
				for _, problem := range problems {
					if problem.Message == "" || len(problem.Message) > 4<<10 {
						t.Errorf("%q is no message", problem.Message)
					}
				}
				continue
			}
			route := &routev3.Route{}
			if err := proto.Unmarshal(body, route); err != nil {
				t.Fatal(err)
			}
			if err := route.ValidateAll(); err != nil {
				t.Fatalf("Envoy refuses %+v: %v", rule, err)
			}
			saysWhatWasWritten(t, route, name, value)
			if rule.Match.Path.Kind == ir.PathRegex {
				if _, err := regexp.Compile(pattern); err != nil {
					t.Errorf("%q is sent: %v", pattern, err)
				}
			}
		}
	})
}

// saysWhatWasWritten reads header values as Envoy's formatter does: %% is a percent
// sign, and any other one would begin a command.
func saysWhatWasWritten(t *testing.T, route *routev3.Route, name, value string) {
	t.Helper()
	for _, option := range append(route.GetRequestHeadersToAdd(), route.GetResponseHeadersToAdd()...) {
		sent := option.GetHeader()
		plain := strings.ReplaceAll(sent.GetValue(), "%%", "")
		if strings.Contains(plain, "%") || strings.ReplaceAll(sent.GetValue(), "%%", "%") != value || !strings.EqualFold(sent.GetKey(), name) {
			t.Errorf("%q: %q is sent as %q: %q", name, value, sent.GetKey(), sent.GetValue())
		}
		if strings.ContainsAny(sent.GetKey()+sent.GetValue(), "\r\n\x00") || strings.ContainsAny(name, " :") {
			t.Errorf("%q: %q breaks a message", sent.GetKey(), sent.GetValue())
		}
	}
}
