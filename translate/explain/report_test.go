package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

func routeKey(name string) manifest.Key {
	return manifest.Key{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "n", Name: name}
}

// prefixed is a rule that forwards to the cluster c.
func prefixed(route string, rule int, path string) *ir.Rule {
	origin := &ir.Origin{Key: routeKey(route)}
	return &ir.Rule{
		Name: fmt.Sprintf("%s/%d", route, rule), Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: path}},
		Root: origin, Source: origin, Position: []int{rule, 0},
		Action: ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: "c", Weight: 1, Field: "spec.rules[0].backendRefs[0]"}}}},
	}
}

// viewWith lays rules under one host of one listener.
func viewWith(host string, rules ...*ir.Rule) *ir.View {
	hosts := []ir.HostView{{Domain: host, Rules: slices.Values(rules), Len: len(rules)}}
	listeners := []ir.Listener{{Name: "all"}, {Name: "wild", Hostname: "*.test", Index: 1}, {Name: "one", Hostname: "a.test", Index: 2}}
	for i := range listeners {
		listeners[i].Object = ir.GatewayKey("n/g")
	}
	port := ir.PortView{Port: &ir.Port{Name: "n/g/http-80", Gateway: "n/g", Port: 80, Listeners: listeners}, Hosts: hosts}
	cluster := &ir.Cluster{
		Name: "c", Objects: []manifest.Key{{Kind: "Service", Namespace: "n", Name: "c"}},
		Endpoints: []ir.Endpoint{{Host: "::1", Port: 81}, {Host: "10.0.0.1", Port: 81, Draining: true}},
	}
	return &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{port}}}, Clusters: map[string]*ir.Cluster{"c": cluster}}
}

func ask(t *testing.T, f explain.Facts, url string) *explain.Report {
	t.Helper()
	query, err := explain.NewQuery("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := explain.Explain(f, query)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestHopsLeadFromTheRootToTheRule(t *testing.T) {
	rule := prefixed("leaf", 2, "/a")
	rule.Root, rule.Section, rule.Weight = &ir.Origin{Key: routeKey("root")}, "cart", 7
	rule.Chain = []ir.Hop{{Route: routeKey("root"), Rule: 1}, {Route: routeKey("middle"), Rule: 0, Match: 3, Included: true}}
	rule.Position = []int{1, 0, 0, 0, 0, 3, 0, 0, 2, 1}
	var got []string
	report := ask(t, explain.Facts{View: viewWith("a.test", rule)}, "http://a.test/a")
	for _, h := range report.Route.Hops {
		got = append(got, fmt.Sprint(h.Object.Name, " ", h.Rule, h.RuleName, " ", h.Match, " ", h.By, " ", h.MatchAt.Field))
	}
	want := []string{
		"root 1 0 delegation spec.rules[1].matches[0]", "middle 0 3 inclusion spec.rules[0].matches[3]",
		"leaf 2cart 1  spec.rules[2].matches[1]",
	}
	if !slices.Equal(got, want) || report.Route.Weight != 7 {
		t.Errorf("got %q, weight %d", got, report.Route.Weight)
	}
}

func TestActionsAreMergedByTypeWithAllTheirPlaces(t *testing.T) {
	limit, none := 10*time.Second, time.Duration(0)
	rule := prefixed("a", 0, "/a")
	rule.Action.RequestHeaders = &ir.HeaderMods{
		Set: []ir.Header{{Name: "a", Value: "1"}}, Add: []ir.Header{{Name: "b", Value: "2"}}, Remove: []string{"c"},
	}
	rule.Action.Rewrite = &ir.Rewrite{Hostname: "h.test", Path: &ir.PathChange{Prefix: "/a", Value: ""}}
	rule.Action.Mirrors = []ir.Mirror{{Cluster: "m", Numerator: 1, Denominator: 4}}
	rule.Action.RequestTimeout, rule.Action.BackendTimeout = &limit, &none
	rule.Action.Retry = &ir.Retry{Attempts: 1, Codes: []uint32{502, 503}, Backoff: time.Second}
	for i, kind := range []string{"RequestHeaderModifier", "URLRewrite", "RequestMirror", "RequestHeaderModifier", "timeouts", "retry", "rateLimit"} {
		rule.Action.Parts = append(rule.Action.Parts, ir.Part{Kind: kind, Object: routeKey("p"), Field: fmt.Sprint("f", i)})
	}
	report := ask(t, explain.Facts{View: viewWith("a.test", rule)}, "http://a.test/a/b?q")
	var got []string
	for _, a := range report.Actions {
		line := a.Type + " (" + a.Does + ")"
		for _, from := range a.From {
			line += " " + from.Field
		}
		got = append(got, line)
	}
	want := []string{
		"RequestHeaderModifier (set a: 1, add b: 2, remove c) f0 f3", "URLRewrite (host h.test, path prefix /a becomes /) f1",
		"RequestMirror (copy 1 of 4 requests to m, with the same Host) f2", "timeouts (request 10s, backendRequest without limit) f4",
		"retry (1 more attempt, on no answer or 502 or 503, the first after at most 1s, none for a body of more than 32 KiB) f5", "rateLimit () f6",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	b := report.Backends[0]
	if b.Receives.Host != "h.test" || b.Receives.Path != "/b?q" || fmt.Sprint(b.Endpoints) != "[[::1]:81 10.0.0.1:81 (draining)]" {
		t.Errorf("backend %+v receives %+v", b, *b.Receives)
	}
}

func TestListenerIsTheMostSpecificOne(t *testing.T) {
	view := viewWith("*", prefixed("a", 0, "/"))
	for host, want := range map[string]string{"a.test": "one", "A.TEST": "one", "b.test": "wild", "other": "all"} {
		if got := ask(t, explain.Facts{View: view}, "http://"+host+"/").Listener.Name; got != want {
			t.Errorf("%s: listener %s, want %s", host, got, want)
		}
	}
}

// Where nothing listens, no route is the reason.
func TestProblemsWhereNothingListens(t *testing.T) {
	facts := explain.Facts{View: viewWith("a.test", prefixed("won", 0, "/a")), Problems: []manifest.Problem{
		{Code: "2 file", Severity: manifest.Error},
		{Code: "no", Object: routeKey("won"), Severity: manifest.Error},
		{Code: "no", Object: routeKey("nowhere"), Severity: manifest.Error},
		{Code: "1 Gateway", Object: manifest.Key{Kind: "Gateway", Namespace: "n", Name: "other"}, Severity: manifest.Error},
	}}
	var got []string
	for _, p := range ask(t, facts, "http://a.test:81/a").Problems {
		got = append(got, p.Code)
	}
	if fmt.Sprint(got) != "[1 Gateway 2 file]" {
		t.Errorf("got %q", got)
	}
}

// Of many listeners, the proposals are those that are most similar to the query.
func TestTheNearestConnectionIsProposed(t *testing.T) {
	view := &ir.View{Gateways: []ir.GatewayView{{Name: "n/g"}}}
	for port := uint32(7000); port < 7020; port++ {
		view.Gateways[0].Ports = append(view.Gateways[0].Ports, ir.PortView{Port: &ir.Port{Name: fmt.Sprint(port), Gateway: "n/g", Port: port, Streams: []ir.Stream{{}}}})
	}
	query, err := explain.NewQuery("", "tcp://a.test:7918", nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := explain.Explain(explain.Facts{View: view}, query)
	if err != nil {
		t.Fatal(err)
	}
	if want := "tcp://a.test:7018"; len(report.Suggestions) == 0 || report.Suggestions[0] != want {
		t.Errorf("the proposals are %q, the first should be %s", report.Suggestions, want)
	}
}

func TestInsteadIsNearestAndBounded(t *testing.T) {
	var rules []*ir.Rule
	for i := range 50 {
		rules = append(rules, prefixed("a", i, fmt.Sprintf("/other/%02d", i)))
	}
	rules = append(rules, prefixed("a", 50, "/zcart"), prefixed("a", 51, "/zcart"))
	report := ask(t, explain.Facts{View: viewWith("a.test", rules...)}, "http://a.test/cart/1/2")
	if report.Outcome != explain.NotFound || len(report.Suggestions) != 10 || report.Suggestions[0] != "path prefix /zcart" {
		t.Errorf("%s: %q", report.Outcome, report.Suggestions)
	}
	report = ask(t, explain.Facts{View: viewWith("a.test", rules...)}, "http://a.tset/")
	if !strings.Contains(report.Reason, "host a.tset") || fmt.Sprint(report.Suggestions) != "[a.test]" {
		t.Errorf("%s: %q", report.Reason, report.Suggestions)
	}
}
