package explain_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

func policyKey(name string) manifest.Key {
	return manifest.Key{Kind: "TrafficPolicy", Namespace: "n", Name: name}
}

// A policy or filter that answers a request in place of its rule is the reason of the
// report, by name; so is a rule whose only backends have no weight.
func TestAPolicyThatAnswersIsNamed(t *testing.T) {
	cors := &ir.CORS{Origins: []ir.StringMatch{{Value: "https://a.test"}}}
	part := func(kind, object, field string) ir.Part {
		return ir.Part{Kind: kind, Object: policyKey(object), Field: field}
	}
	preflight := http.Header{"Origin": {"https://a.test"}, "Access-Control-Request-Method": {"GET"}}
	for _, c := range []struct {
		name    string
		method  string
		headers http.Header
		change  func(*ir.Action)
		status  uint32
		grpc    string
		reason  string
	}{
		{"a filter", "OPTIONS", preflight, func(a *ir.Action) {
			a.CORS, a.Parts = cors, []ir.Part{{Kind: "CORS", Object: routeKey("r"), Field: "spec.rules[0].filters[0]"}}
		}, 200, "", "Envoy answers the CORS preflight request itself, by HTTPRoute n/r (spec.rules[0].filters[0])"},
		{"a policy", "OPTIONS", preflight, func(a *ir.Action) {
			a.Extras, a.Parts = &ir.Extras{CORS: cors}, []ir.Part{part("TrafficPolicy cors", "one", "spec.cors"), part("TrafficPolicy cors", "two", "spec.cors")}
		}, 200, "", "by TrafficPolicy n/one (spec.cors) and TrafficPolicy n/two (spec.cors)"},
		{"CSRF without an origin", "POST", nil, func(a *ir.Action) {
			a.Extras, a.Parts = &ir.Extras{CSRF: &ir.CSRF{Enabled: 100}}, []ir.Part{part("TrafficPolicy csrf", "p", "spec.csrf")}
		}, 403, "", "Envoy rejects the request by TrafficPolicy n/p (spec.csrf): it has neither an Origin nor a Referer header"},
		{"CSRF with another origin", "PUT", http.Header{"Origin": {"http://b.test"}}, func(a *ir.Action) {
			a.Extras, a.Parts = &ir.Extras{CSRF: &ir.CSRF{Enabled: 100}}, []ir.Part{part("TrafficPolicy csrf", "p", "spec.csrf")}
		}, 403, "", `it comes from "b.test", which is neither its own host "a.test" nor an additional origin`},
		{"CSRF for gRPC", "POST", http.Header{"Content-Type": {"application/grpc"}}, func(a *ir.Action) {
			a.Extras = &ir.Extras{CSRF: &ir.CSRF{Enabled: 100}}
		}, 403, "7 PERMISSION_DENIED", "Envoy rejects the request by TrafficPolicy csrf"},
		{"CSRF before a redirect", "POST", nil, func(a *ir.Action) {
			a.Forward, a.Redirect, a.Extras = nil, &ir.Redirect{Status: 302}, &ir.Extras{CSRF: &ir.CSRF{Enabled: 100}}
		}, 403, "", "Envoy rejects the request by TrafficPolicy csrf"},
		{"no weight", "GET", nil, func(a *ir.Action) { a.Forward.Backends[0].Weight = 0 }, 500, "", "the rule answers 500 by itself"},
	} {
		rule := prefixed("r", 0, "/")
		c.change(&rule.Action)
		report, err := explain.Explain(explain.Facts{View: viewWith("a.test", rule)},
			explain.Query{Host: "a.test", Method: c.method, Headers: c.headers})
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != explain.Responded || report.Status != c.status || report.GRPCStatus != c.grpc || !strings.Contains(report.Reason, c.reason) {
			t.Errorf("%s: %s %d %s %q", c.name, report.Outcome, report.Status, report.GRPCStatus, report.Reason)
		}
	}
}

// A backend without an endpoint that Envoy would use is no backend that answers.
func TestABackendWithoutEndpointsIsAnswered503(t *testing.T) {
	never := uint32(0)
	for _, c := range []struct {
		name     string
		cluster  ir.Cluster
		beside   string // a second reference's cluster
		grpc     bool
		outcome  explain.OutcomeKind
		status   uint32
		grpcWord string
	}{
		{name: "none", outcome: explain.Responded, status: 503},
		{name: "none for gRPC", grpc: true, outcome: explain.Responded, status: 503, grpcWord: "14 UNAVAILABLE"},
		{name: "none beside one", beside: "c", outcome: explain.Forwarded},
		{name: "none beside a missing one", beside: "-", outcome: explain.Responded, status: 503},
		{name: "draining", cluster: ir.Cluster{Endpoints: []ir.Endpoint{{Host: "10.0.0.1", Port: 1, Draining: true}}}, outcome: explain.Forwarded},
		{name: "draining without panic", cluster: ir.Cluster{
			Endpoints: []ir.Endpoint{{Host: "10.0.0.1", Port: 1, Draining: true}}, Upstream: &ir.Upstream{Balancer: &ir.Balancer{PanicPercent: &never}},
		}, outcome: explain.Responded, status: 503},
	} {
		rule := prefixed("r", 0, "/")
		rule.Action.Forward.Backends[0].Cluster = "lonely"
		if c.beside != "" {
			rule.Action.Forward.Backends = append(rule.Action.Forward.Backends, ir.Backend{Cluster: strings.Trim(c.beside, "-"), Weight: 1})
		}
		view := viewWith("a.test", rule)
		view.Clusters["lonely"] = &c.cluster
		query := explain.Query{Host: "a.test", Headers: http.Header{}}
		if c.grpc {
			query.Headers.Set("content-type", "application/grpc")
		}
		report, err := explain.Explain(explain.Facts{View: view}, query)
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != c.outcome || report.Status != c.status || report.GRPCStatus != c.grpcWord {
			t.Errorf("%s: %s %d %s", c.name, report.Outcome, report.Status, report.GRPCStatus)
		}
		if lonely := report.Backends[0]; c.cluster.Endpoints == nil && (lonely.Status != 503 || lonely.Closed == "" || lonely.Receives != nil) {
			t.Errorf("%s: %+v", c.name, lonely)
		}
	}
}

// A rule that was added for preflight requests answers them, as a part of the rule that it was added for. It is a near
// miss of preflight requests alone.
func TestARuleForPreflightRequests(t *testing.T) {
	posts := prefixed("r", 0, "/")
	posts.Match.Method = "POST"
	posts.Action.CORS = &ir.CORS{Origins: []ir.StringMatch{{Value: "https://a.test"}}}
	place, match, _ := posts.Match.Preflight()
	asked := *posts
	asked.Name, asked.Match, asked.Preflight, asked.Action = posts.Name+"/preflight", match, &place, ir.Action{Forward: &ir.Forward{}, CORS: posts.Action.CORS}
	const words = "CORS preflight requests for path prefix /, method POST"
	for _, c := range []struct {
		name, method string
		headers      http.Header
		status       uint32
		match        string
		near         []string
	}{
		{"an origin that is allowed", "OPTIONS", http.Header{"Origin": {"https://a.test"}, "Access-Control-Request-Method": {"POST"}}, 200, words, []string{"path prefix /, method POST"}},
		{"another origin", "OPTIONS", http.Header{"Origin": {"https://b.test"}, "Access-Control-Request-Method": {"POST"}}, 200, words, []string{"path prefix /, method POST"}},
		{"another method", "OPTIONS", http.Header{"Origin": {"https://a.test"}, "Access-Control-Request-Method": {"PUT"}}, 404, "", []string{"path prefix /, method POST", words}},
		{"no origin", "OPTIONS", http.Header{"Access-Control-Request-Method": {"POST"}}, 404, "", []string{"path prefix /, method POST"}},
		{"no preflight request", "GET", http.Header{"Origin": {"https://a.test"}, "Access-Control-Request-Method": {"POST"}}, 404, "", []string{"path prefix /, method POST"}},
	} {
		report, err := explain.Explain(explain.Facts{View: viewWith("a.test", posts, &asked)}, explain.Query{Host: "a.test", Method: c.method, Headers: c.headers})
		if err != nil {
			t.Fatal(err)
		}
		route := ""
		if report.Route != nil {
			route = report.Route.Match
		}
		var near []string
		for _, miss := range report.NearMisses {
			near = append(near, miss.Match)
		}
		if report.Status != c.status || route != c.match || !slices.Equal(near, c.near) {
			t.Errorf("%s: %d by %q, near misses %q", c.name, report.Status, route, near)
		}
	}
}
