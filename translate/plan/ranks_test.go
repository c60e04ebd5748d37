package plan_test

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/plan"
)

// Two rules of one route are different rules, also if they have no name. A rule that moved within its route, or
// whose matches were edited, is still the same rule.
func TestEffectTellsRulesOfOneRouteApart(t *testing.T) {
	toMatches := func(backend, matches string) string {
		return "  - matches: [" + matches + "]\n    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: " + backend + "}]\n"
	}
	byHeader := func(backend, header string) string {
		return toMatches(backend, "{headers: [{name: "+header+", value: \"1\"}]}")
	}
	named := func(name, rule string) string {
		return "  - name: " + name + "\n    " + strings.TrimPrefix(rule, "  - ")
	}
	for _, one := range []struct {
		name, before, after string
		want                plan.Effect
	}{
		{"a rule is gone", to("a", "/old") + to("b", "/"), to("b", "/"), plan.OtherRule},
		{"the last rule is gone", to("b", "/") + to("a", "/old"), to("b", "/"), plan.OtherRule},
		{"a rule is new", to("a", "/"), to("b", "/new") + to("a", "/"), plan.OtherRule},
		{"the order of two rules changed", byHeader("a", "x-a") + byHeader("b", "x-b"), byHeader("b", "x-b") + byHeader("a", "x-a"), plan.OtherRule},
		{"a rule with a name is gone", named("old", to("a", "/old")) + named("all", to("b", "/")), named("all", to("b", "/")), plan.OtherRule},
		{"a rule with a name and another backend moved", named("old", to("a", "/old")), to("a", "/old/new") + named("old", to("b", "/old")), plan.OtherBackends},
		{"a rule gets a name and another backend", to("a", "/old"), to("a", "/old/new") + named("old", to("b", "/old")), plan.OtherBackends},
		{"a rule with another backend", to("a", "/old") + to("a", "/"), to("b", "/old") + to("a", "/"), plan.OtherBackends},
		{"a rule that moved, with another backend", to("a", "/old"), to("a", "/old/new") + to("b", "/old"), plan.OtherBackends},
		{"a rule with another match and another backend", toMatches("a", "{path: {value: /}}"), toMatches("b", "{path: {value: /new}}, {path: {value: /}}"), plan.OtherBackends},
	} {
		t.Run(one.name, func(t *testing.T) {
			report := compared(t, gateway+backends+route("shop", "", one.before), gateway+backends+route("shop", "", one.after))
			if len(report.Requests) == 0 {
				t.Fatal("no request changes")
			}
			for _, change := range report.Requests {
				if change.Effect != one.want {
					t.Errorf("the effect is %s, want %s:\n%s", change.Effect, one.want, text(change))
				}
			}
		})
	}
}
