package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/plan"
)

// What became of the rules is said as it is: a rule is new or gone only if its route has it no more.
func TestWordsOfTakeovers(t *testing.T) {
	wild := route("wild", "  hostnames: [\"*.example.com\"]\n", to("a", "/"))
	shop := func(host string) string { return route("shop", "  hostnames: ["+host+"]\n", to("b", "/")) }
	folder := gateway + backends
	for _, one := range []struct {
		name, before, after string
		want, not           []string
	}{
		{"a wildcard takes over", wild + shop("shop.example.com"), wild, []string{
			"HTTPRoute default/shop, rule 0 is gone; the requests go to the host *.example.com, which has HTTPRoute default/wild, rule 0",
		}, []string{"is new"}},
		{"a host takes from a wildcard", wild, wild + shop("shop.example.com"), []string{
			"HTTPRoute default/shop, rule 0 is new; the host shop.example.com is more specific than *.example.com, which has HTTPRoute default/wild, rule 0",
		}, []string{"is gone"}},
		{"edited hostname", shop("shop.example.com"), shop("store.example.com"), []string{
			"HTTPRoute default/shop, rule 0 serves the host now: its hostnames or parentRefs changed", "at HTTPRoute default/shop spec.hostnames after",
			"HTTPRoute default/shop, rule 0 no longer serves the host: its hostnames or parentRefs changed, and no other rule takes the requests",
		}, []string{"is new", "is gone"}},
		{"edited match", route("shop", "", to("a", "/old")+to("b", "/")), route("shop", "", to("a", "/new")+to("b", "/")), []string{
			"the match of HTTPRoute default/shop, rule 0 changed: path prefix /new; before: path prefix /old",
		}, []string{"is new", "is gone"}},
		{"removed rule", route("shop", "", to("a", "/old")+to("b", "/")), route("shop", "", to("b", "/")), []string{
			"HTTPRoute default/shop, rule 0 is gone; HTTPRoute default/shop, rule 0 takes its requests",
		}, []string{"the match of"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			all := texts(compared(t, folder+one.before, folder+one.after).Requests)
			has(t, all, one.want...)
			hasNot(t, all, one.not...)
		})
	}
}

// A port that comes, goes or moves is shown by a request that a route serves.
func TestExampleOfAWholePort(t *testing.T) {
	folder := gateway + backends + route("shop", "  hostnames: [shop.example.com]\n", to("a", "/cart"))
	moved := strings.Replace(folder, "port: 8080", "port: 8081", 1)
	report := compared(t, folder, moved)
	has(t, texts(report.Requests),
		"example GET http://shop.example.com:8080/cart\nfrom \nbefore Backend/default/a\nafter no connection",
		"port 8080 of Gateway default/web is gone, with listener http; it listens on http port 8081",
		"example GET http://shop.example.com:8081/cart\nfrom \nbefore no connection\nafter Backend/default/a",
	)
	without := folder[strings.Index(folder, "---"):]
	has(t, texts(compared(t, folder, without).Requests), "example GET http://shop.example.com:8080/cart", "no Gateway of this name listens any more")
}

// What is the same on several listeners is counted once.
func TestSummaryCountsOnceForAllListeners(t *testing.T) {
	two := strings.Replace(gateway, "listeners: [", "listeners: [{name: other, port: 8090, protocol: HTTP}, ", 1) + backends
	before, after := two+route("shop", "", to("a", "/"))+policy("shop", office), two+route("shop", "", to("b", "/"))
	report := compared(t, before, after)
	has(t, report.Summary, "1 kind of request gets another answer on 2 listeners")
	if len(report.Policies) != 1 || report.Policies[0].Rules != 1 {
		t.Errorf("policies: %+v", report.Policies)
	}
}

// An expression among two thousand rules has an example.
func TestExampleOfAnExpressionAmongManyRules(t *testing.T) {
	var rules strings.Builder
	for i := range 2000 {
		if i%15 == 0 {
			fmt.Fprintf(&rules, "%s", route(fmt.Sprintf("r%d", i), "", ""))
		}
		match := fmt.Sprintf("{path: {value: /app%d}}", i)
		if i%4 == 0 {
			match = fmt.Sprintf("{path: {type: RegularExpression, value: \"/app%d/v[0-9]+/(users|items)/[a-z0-9-]{3,12}\"}}", i)
		}
		fmt.Fprintf(&rules, "  - matches: [%s]\n    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]\n", match)
	}
	before := gateway + backends + rules.String()
	after := strings.Replace(before, "/app1000/v[0-9]+", "/app1000/v[1-9]+", 1)
	report := compared(t, before, after)
	if len(report.Undecided) > 0 {
		t.Errorf("undecided: %+v", report.Undecided)
	}
	has(t, texts(report.Requests), "before Backend/default/a\nafter 404", "the match of HTTPRoute default/r990, rule 10 changed")
}

// A rule without an example says why.
func TestUndecidedSayWhy(t *testing.T) {
	rule := func(match string) string {
		return gateway + backends + route("shop", "", "  - matches: [{"+match+"}]\n    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]\n")
	}
	nothing := gateway + backends + route("shop", "", to("a", "/zz"))
	for match, want := range map[string]string{
		`path: {type: RegularExpression, value: "/a\\b.*"}`: "word boundaries",
		`queryParams: [{name: q, value: "two words"}]`:      `no request has the value "two words" of query parameter q`,
	} {
		report := compared(t, nothing, rule(match))
		var why []string
		for _, one := range report.Undecided {
			why = append(why, one.Why)
		}
		has(t, strings.Join(why, "\n"), want)
		hasNot(t, texts(report.Requests), "?q=two")
		if len(why) != 1 {
			t.Errorf("%s: %d undecided", match, len(why))
		}
	}
}

const issuer = `---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: users}
spec:
  oauth2:
    redirectURI: "http://any.example:8080/callback"
    issuerURI: "https://login.example.com/"
    credentials: {clientID: CLIENT, clientSecretRef: {name: client}}
    backendRef: {group: gateway.kgateway.dev, kind: Backend, name: a}
---
apiVersion: v1
kind: Secret
metadata: {name: client}
stringData: {client-secret: topsecret}
`

// Rules of an issuer that nobody asked are not compared silently.
func TestUnaskedIssuersAreNamed(t *testing.T) {
	folder := gateway + backends + route("shop", "", to("a", "/")) + policy("shop", "  oauth2: {extensionRef: {name: users}}\n")
	before := folder + issuer
	var report *plan.Report
	report = compared(t, before, before)
	if report.Changes || len(report.Unasked) != 1 || !strings.HasPrefix(report.Unasked[0], "https://login.example.com") {
		t.Errorf("%+v", report)
	}
	has(t, report.Summary, "nothing changes, 1 issuer was not asked")
	report = compared(t, before, strings.Replace(before, "CLIENT", "other", 1))
	if len(report.Undecided) == 0 || !strings.Contains(report.Undecided[0].Why, "was not asked") {
		t.Errorf("%+v", report.Undecided)
	}
}
