package explain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// FuzzExplain asks anything of a View with every kind of action and policy: no question
// makes explain panic, and each is answered or is told what is wrong with it.
func FuzzExplain(f *testing.F) {
	for _, url := range []string{
		"http://a.test/forward", "http://a.test/redirect", "http://a.test/respond", "http://a.test/none", "http://a.test/?q=1",
		"https://a.test./", "http://[::1]:80/%zz", "tls://a.test:443", "udp://a:53", "http://a.test/..%2f/%00#x", "http://a.test/\\",
	} {
		f.Add("GET", url, "Host: a.test")
		f.Add("OPTIONS", url, "Origin: https://a.test\nAccess-Control-Request-Method: GET")
		f.Add("POST", url, "Origin: null\nReferer: http://u:p@a.test/#f\ncontent-type: application/grpc")
		f.Add("CONNECT", url, "Connection: upgrade, host\nUpgrade: websocket\nx_a: 1\nX-Forwarded-Proto: https")
	}
	view := everyAction()
	f.Fuzz(func(t *testing.T, method, url, headers string) {
		query, err := explain.NewQuery(method, url, strings.Split(headers, "\n"))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		report, err := explain.Explain(explain.Facts{View: view}, query)
		if err == nil && report.Outcome == "" {
			t.Errorf("no outcome: %+v", report)
		}
		for name := range query.Headers { // a program may ask what a command cannot
			query.Headers[name] = append(query.Headers[name], "", headers)
		}
		query.Method, query.Host, query.Path = method, headers, url
		explain.Request(view, query)
	})
}

// everyAction has a rule for each kind of action, with and without all that policies add.
func everyAction() *ir.View {
	limit := time.Second
	service := func(field ir.Field) ir.ExtensionUse {
		return ir.ExtensionUse{Field: field, Extension: &ir.Extension{
			Service: ir.Service{Cluster: "c"}, Auth: &ir.AuthService{Percent: 100}, Processor: &ir.ProcessorService{}, Limiter: &ir.LimitService{},
		}}
	}
	read := ir.Expr{Func: "header", Text: ":authority"}
	cors := &ir.CORS{Origins: []ir.StringMatch{{Kind: ir.StringRegex, Value: "https://.*"}}}
	extras := &ir.Extras{
		Request: []ir.HeaderChange{
			{Kind: ir.SetHeader, Name: "x-a", Value: ir.Template{{Func: "lower", Args: []ir.Expr{read}}, {Text: "b"}}},
			{Kind: ir.AddHeader, Name: "accept", Value: ir.Template{{Func: "default", Text: "d", Args: []ir.Expr{read}}}},
			{Kind: ir.RemoveHeader, Name: "x-b"},
		},
		RateLimit: &ir.RateLimit{Enabled: 100, Enforced: 100}, ExtAuth: &ir.ExtAuth{ExtensionUse: service("extAuth")},
		ExtProc: &ir.ExtProc{ExtensionUse: service("extProc")}, GlobalLimit: &ir.GlobalLimit{ExtensionUse: service("rateLimit.global")},
		CORS: cors, CSRF: &ir.CSRF{Enabled: 100, Origins: []ir.StringMatch{{Kind: ir.StringSuffix, Value: ".test", IgnoreCase: true}}},
		BufferBytes: 1, AutoHost: true, RequestTimeout: &limit, IdleTimeout: &limit, Retry: &ir.Retry{Attempts: 1}, Hash: []ir.Hash{{SourceIP: true}},
		RequestHeaders: ir.HeaderMods{Set: []ir.Header{{Name: "x-c", Value: "1"}}},
	}
	var rules []*ir.Rule
	for path, action := range map[string]ir.Action{
		"/redirect": {Redirect: &ir.Redirect{Status: 302, Path: &ir.PathChange{Prefix: "/redirect"}}},
		"/respond":  {Respond: &ir.Respond{Status: 500, Why: "closed"}},
		"/none":     {Forward: &ir.Forward{}},
		"/lost":     {Forward: &ir.Forward{Backends: []ir.Backend{{Weight: 1}, {Cluster: "gone", Weight: 1}, {Cluster: "c"}}}},
		"/forward":  {Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "c", Weight: 1, Rewrite: &ir.Rewrite{Hostname: "h"}}}}, CORS: cors},
		"/":         {Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "c", Weight: 1}}}, Rewrite: &ir.Rewrite{Path: &ir.PathChange{Full: true, Value: "/"}}},
	} {
		for _, policies := range []*ir.Extras{nil, extras} {
			rule := prefixed("r"+strings.ReplaceAll(path, "/", "-"), len(rules), path)
			rule.Action, rule.Action.Extras = action, policies
			rule.Action.Parts = []ir.Part{{Kind: "TrafficPolicy csrf", Object: policyKey("p")}, {Kind: "CORS", Object: routeKey("r")}}
			if policies == nil {
				rule.Match.Method = "DELETE"
				rule.Match.Headers = []ir.ValueMatch{{Name: "x-request-id", Value: ".+", Regex: true}, {Name: "x_a", Value: "1"}}
			}
			rules = append(rules, rule)
		}
	}
	slices.SortFunc(rules, func(a, b *ir.Rule) int { return len(b.Match.Path.Value) - len(a.Match.Path.Value) })
	view := viewWith("*", rules...)
	port := view.Gateways[0].Ports[0]
	secure := *port.Port
	secure.Port, secure.Chains = 443, []ir.Chain{{Name: "a.test", TLS: &ir.TLS{}}, {Name: "*.test", TLS: &ir.TLS{}}}
	secure.Streams = []ir.Stream{{Listener: "t", Chain: "*", Domains: []string{"b.test"}, Route: &ir.StreamRoute{
		Origin: &ir.Origin{Key: manifest.Key{Kind: "TLSRoute"}}, Backends: []ir.Backend{{Cluster: "c", Weight: 1}},
	}}}
	host := port.Hosts[0]
	host.Chain, host.Domain = "a.test", "a.test"
	view.Gateways[0].Ports = append(view.Gateways[0].Ports, ir.PortView{Port: &secure, Hosts: []ir.HostView{host}})
	return view
}
