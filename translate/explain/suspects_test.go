package explain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// outlined returns outlines of routes by name; other routes have none.
func outlined(routes map[string]store.Outline) func([]manifest.Key) []store.Outline {
	return func(keys []manifest.Key) []store.Outline {
		var out []store.Outline
		for _, key := range keys {
			outline, found := routes[key.Name]
			outline.Found = found
			out = append(out, outline)
		}
		return out
	}
}

// paths is the outline of a route with a rule for each path.
func paths(paths ...string) store.Outline {
	var out store.Outline
	for _, path := range paths {
		out.Rules = append(out.Rules, store.RuleOutline{Paths: []store.PathOutline{{Value: path}}})
	}
	return out
}

func errorOf(code string, object manifest.Key, field string) manifest.Problem {
	return manifest.Problem{Code: code, Object: object, Field: field, Severity: manifest.Error, Message: "wrong"}
}

func codes(problems []manifest.Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Code)
	}
	return fmt.Sprint(out)
}

// Listed are problems on the way of the request, the closest first, and those of rules that
// might have taken it. Others of the host are counted.
func TestProblemsOnTheWay(t *testing.T) {
	won, near := prefixed("won", 1, "/a/b"), prefixed("near", 0, "/x")
	missing := errorOf("1 the rule", routeKey("won"), "spec.rules[1].backendRefs[0]")
	missing.Message = "Service n/gone does not exist"
	hosts := paths("/a/b/c")
	hosts.Hosts = []string{"b.test"}
	elsewhere := paths("/a/b/c")
	elsewhere.Parents = []manifest.Key{ir.GatewayKey("n/other")}
	facts := explain.Facts{
		View: viewWith("a.test", won, near),
		Outlines: outlined(map[string]store.Outline{
			"won": paths("/", "/a/b"), "near": paths("/x"), "broken": paths("/z", "/a/b/c"), "wide": paths("/a"),
			"other": hosts, "elsewhere": elsewhere,
		}),
		Problems: []manifest.Problem{
			errorOf("folded: another rule of the winner", routeKey("won"), "spec.rules[0].backendRefs[0]"),
			errorOf("folded: another path", routeKey("near"), "spec.rules[0].timeouts"),
			errorOf("folded: a wider path than the winner's", routeKey("wide"), "spec.rules[0].x"),
			errorOf("folded: another rule of a broken route", routeKey("broken"), "spec.rules[0].x"),
			errorOf("no: another host", routeKey("other"), "spec.rules[0].x"),
			errorOf("no: another Gateway", routeKey("elsewhere"), "spec.rules[0].x"),
			errorOf("no: unknown", routeKey("nowhere"), "spec.rules[0].x"),
			errorOf("no: a backend of others", manifest.Key{Kind: "Service", Namespace: "n", Name: "other"}, "spec"),
			errorOf("no: a file", manifest.Key{}, ""),
			errorOf("5 overlaps", routeKey("broken"), "spec.rules[1].x"),
			errorOf("4 a backend that a problem names", manifest.Key{Kind: "Service", Namespace: "n", Name: "gone"}, "spec"),
			errorOf("3 backend", manifest.Key{Kind: "Service", Namespace: "n", Name: "c"}, "spec"),
			errorOf("2 the route", routeKey("won"), "spec.parentRefs[0]"),
			missing,
		},
	}
	report := ask(t, facts, "http://a.test/a/b/c")
	want := "[1 the rule 3 backend 2 the route 4 a backend that a problem names 5 overlaps]"
	if got := codes(report.Problems); got != want || report.MoreProblems != 4 {
		t.Errorf("got %s and %d more", got, report.MoreProblems)
	}
	for range 30 {
		facts.Problems = append(facts.Problems, missing)
	}
	if report := ask(t, facts, "http://a.test/a/b/c"); len(report.Problems) != 20 || report.MoreProblems != 19 {
		t.Errorf("%d problems, and %d more", len(report.Problems), report.MoreProblems)
	}
}

// Where nothing takes the request, the broken route that covers most of its path stands
// first, and a file that cannot be read last.
func TestTheMostLikelyProblemOfA404StandsFirst(t *testing.T) {
	pattern := store.Outline{Rules: []store.RuleOutline{{Paths: []store.PathOutline{{Type: "RegularExpression", Value: "/c/(x"}}}}}
	relative := paths("/typo")
	relative.Parents = []manifest.Key{routeKey("root")}
	facts := explain.Facts{
		View: viewWith("a.test", prefixed("root", 0, "/r")),
		Outlines: outlined(map[string]store.Outline{
			"any": {Rules: []store.RuleOutline{{}}}, "a": paths("/a"), "typo": paths("/a/typo"), "pattern": pattern, "relative": relative, "b": paths("/b"),
		}),
		Problems: []manifest.Problem{
			errorOf("5 file", manifest.Key{}, ""), errorOf("no", routeKey("b"), "spec.x"), errorOf("4 any path", routeKey("any"), "spec.x"),
			errorOf("3 /a", routeKey("a"), "spec.x"), errorOf("1 /a/typo", routeKey("typo"), "spec.rules[0].match"),
			errorOf("2 below", routeKey("relative"), "spec.x"), errorOf("no: begins elsewhere", routeKey("pattern"), "spec.x"),
		},
	}
	if got := codes(ask(t, facts, "http://a.test/a/typo").Problems); got != "[1 /a/typo 2 below 3 /a 4 any path 5 file]" {
		t.Errorf("got %s", got)
	}
	if got := codes(ask(t, facts, "http://a.test/c/1").Problems); got != "[no: begins elsewhere 4 any path 5 file]" {
		t.Errorf("got %s", got)
	}
}

// A 404 names the rule that handed the path on, and the paths below it first.
func TestA404NamesTheDelegation(t *testing.T) {
	chain := []ir.Hop{{Route: routeKey("root"), Rule: 1, Match: 0, Section: "teams"}}
	good, deep, other := prefixed("good", 0, "/a/good"), prefixed("deep", 0, "/a/x/y"), prefixed("typo", 0, "/typo")
	good.Chain, deep.Chain = chain, append(slices.Clone(chain), ir.Hop{Route: routeKey("mid"), Included: true})
	root := paths("/b", "/a")
	root.Rules[1].Children = []manifest.Key{{Kind: "HTTPRoute", Namespace: "team", Name: "*"}, routeKey("mid"), {Kind: "label", Namespace: "m", Name: "x"}}
	facts := explain.Facts{
		View:     viewWith("a.test", other, deep, good),
		Outlines: outlined(map[string]store.Outline{"root": root, "mid": paths("/a/x")}),
	}
	report := ask(t, facts, "http://a.test/a/typo")
	reason := "HTTPRoute n/root, rule 1 (teams, path prefix /a) delegates to every route in team, HTTPRoute n/mid, routes with the label x in m, and no route there matches /a/typo"
	if report.Reason != reason || report.Delegation == nil || report.Delegation.At.Field != "spec.rules[1]" {
		t.Errorf("got %s\nand %+v", report.Reason, report.Delegation)
	}
	if got := fmt.Sprint(report.Suggestions); got != "[path prefix /a/good path prefix /a/x/y path prefix /typo]" {
		t.Errorf("got %s", got)
	}
	report = ask(t, facts, "http://a.test/a/x/z")
	if want := "HTTPRoute n/mid, rule 0 (path prefix /a/x) delegates to the routes that name it as parent, and no route there matches /a/x/z"; report.Reason != want {
		t.Errorf("got %s", report.Reason)
	}
	if report = ask(t, facts, "http://a.test/c"); report.Delegation != nil || report.Reason != "no rule of the host a.test has the path /c" {
		t.Errorf("got %s", report.Reason)
	}
}

func TestNearPathsShareSegments(t *testing.T) {
	pattern := prefixed("p", 0, "")
	pattern.Match.Path = ir.Path{Kind: ir.PathRegex, Value: "/re/[0-9]+"}
	view := viewWith("a.test", prefixed("a", 0, "/x"), prefixed("a", 1, "/api/users"), pattern, prefixed("a", 2, "/api/orders/v1"))
	for path, want := range map[string]string{
		"/re/x": "path matching /re/[0-9]+", "/api/user": "path prefix /api/users", "/api/orders/v2": "path prefix /api/orders/v1", "/y": "path prefix /x",
	} {
		if report := ask(t, explain.Facts{View: view}, "http://a.test"+path); report.Suggestions[0] != want {
			t.Errorf("%s: got %q", path, report.Suggestions)
		}
	}
}
