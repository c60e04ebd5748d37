package plan_test

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/plan"
)

// gateway is a Gateway with one listener, and backends are two Backends.
const gateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
`

const backends = `---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9001}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: b}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 9002}]}}
`

// route is an HTTPRoute whose spec begins with some fields, and with rules.
func route(name, fields, rules string) string {
	return `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ` + name + `}
spec:
  parentRefs: [{name: web}]
` + fields + "  rules:\n" + rules
}

// to is a rule for a path to a backend.
func to(backend, path string) string {
	return "  - matches: [{path: {value: " + path + "}}]\n    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: " + backend + "}]\n"
}

// policy is a TrafficPolicy of a route.
func policy(route, spec string) string {
	return `---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: guard}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: ` + route + `}]
` + spec
}

func compared(t *testing.T, before, after string) *plan.Report {
	t.Helper()
	report, err := plan.Compare(t.Context(), side(t, map[string][]byte{"all.yaml": []byte(before)}), side(t, map[string][]byte{"all.yaml": []byte(after)}))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// text is all that a change says, a line for each fact.
func text(c plan.Change) string {
	lines := []string{"example " + c.Example.Method + " " + c.Example.URL, "from " + c.Example.From, "before " + c.Before.Words(), "after " + c.After.Words()}
	for name, values := range c.Example.Headers {
		lines = append(lines, "header "+name+": "+strings.Join(values, ", "))
	}
	for _, reason := range c.Reasons {
		lines = append(lines, "because "+reason.Text)
		for _, at := range reason.At {
			when := "after"
			if at.Before {
				when = "before"
			}
			lines = append(lines, "at "+at.Object.String()+" "+at.Field+" "+when)
		}
	}
	for _, region := range c.Regions {
		lines = append(lines, "for "+region.Host+" "+region.Match)
	}
	return strings.Join(lines, "\n") + "\n"
}

func texts(list []plan.Change) string {
	var all []string
	for _, one := range list {
		all = append(all, text(one))
	}
	return strings.Join(all, "\n")
}

// has fails for each line that is not in a text.
func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

func hasNot(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if strings.Contains(text, line) {
			t.Errorf("%q is in\n%s", line, text)
		}
	}
}

const office = "  acl: {defaultAction: deny, rules: [{name: office, cidrs: [192.0.2.0/24], action: allow}]}\n"

// An example of a request that lost a policy is one that the policy rejected, also where another
// backend alone would show a change.
func TestExampleShowsTheLostPolicy(t *testing.T) {
	before := gateway + backends + route("shop", "", to("a", "/admin"))
	after := gateway + backends + route("shop", "", to("b", "/admin"))
	takeover := gateway + backends + route("shop", "", to("a", "/admin")) + route("blog", "", to("b", "/admin/users"))
	for _, one := range []struct{ name, policy, after, want string }{
		{"acl", office, after, "from 203.0.113.7"},
		{"acl of another rule", office, takeover, "from 203.0.113.7"},
		{"rbac by method", "  rbac: {policy: {matchExpressions: [\"request.method == 'GET' || request.headers['x-team'] == 'red'\"]}}\n", after, "example POST"},
		{"rbac by header", "  rbac: {action: Deny, policy: {matchExpressions: [\"request.headers['x-team'] == 'red'\"]}}\n", after, "header X-Team: red"},
		{"csrf", "  csrf: {percentageEnabled: 100}\n", after, "example POST"},
		{"buffer", "  buffer: {maxRequestSize: 1Ki}\n", after, "header Content-Length: 1025"},
	} {
		t.Run(one.name, func(t *testing.T) {
			guarded, open := before+policy("shop", one.policy), one.after
			if strings.Contains(one.name, "another") {
				open += policy("shop", one.policy)
			}
			report := compared(t, guarded, open)
			has(t, texts(report.Requests), one.want, "before 4", "after Backend/default/b")
			if len(report.Policies) != 1 || report.Policies[0].Kind != plan.Removed {
				t.Errorf("policies: %v", report.Policies)
			}
		})
	}
}

// A policy that becomes invalid closes its rules: it is not lost.
func TestInvalidPolicyIsClosedAndNotLost(t *testing.T) {
	folder := gateway + backends + route("shop", "", to("a", "/admin"))
	before := folder + policy("shop", office)
	after := folder + policy("shop", "  acl: {defaultAction: deny, rules: [{name: office, cidrs: [nonsense], action: allow}]}\n")
	report := compared(t, before, after)
	has(t, texts(report.Requests), "after 500", "at TrafficPolicy default/guard")
	hasNot(t, texts(report.Requests), "removed")
	if len(report.Policies) != 1 || report.Policies[0].Kind != plan.Closed || report.Policies[0].Field != "acl" {
		t.Errorf("policies: %v", report.Policies)
	}
	has(t, report.Summary, "1 policy field closed with an error")
	hasNot(t, report.Summary, "lost")

	report = compared(t, after, before)
	hasNot(t, texts(report.Requests)+report.Summary, "lost", "added")
}

// Each list of an ACL or RBAC that differs is shown with what differs, and by a client or a request of
// the difference.
func TestExampleIsOfTheDifference(t *testing.T) {
	folder := gateway + backends + route("shop", "", to("a", "/"))
	acl := func(ranges string) string {
		return "  acl: {defaultAction: deny, rules: [{cidrs: [" + ranges + "], action: allow}]}\n"
	}
	const many = "10.1.0.0/16, 10.2.0.0/16, 10.3.0.0/16, 10.4.0.0/16, "
	rbac := func(expressions string) string {
		return "  rbac: {policy: {matchExpressions: [" + expressions + "]}}\n"
	}
	for _, one := range []struct {
		name, before, after string
		want                []string
	}{
		{"grows to the other half", acl("10.0.0.0/9"), acl("10.0.0.0/8"), []string{"from 10.128.0.1", "before 403", "after Backend", "ranges added: allow 10.0.0.0/8; ranges removed: allow 10.0.0.0/9"}},
		{"shrinks", acl("10.0.0.0/8"), acl("10.128.0.0/9"), []string{"from 10.0.0.1", "before Backend", "after 403"}},
		{"of many", acl(many + "10.5.0.0/16"), acl(many + "10.6.0.0/16"), []string{"from 10.", "ranges added: allow 10.6.0.0/16; ranges removed: allow 10.5.0.0/16"}},
		{"IPv6", acl("2001:db9::/33"), acl("2001:db9::/32"), []string{"from 2001:db9:8000::1"}},
		{"expression", rbac(`"request.method == 'GET'"`), rbac(`"request.method == 'GET' && request.headers['x-team'] == 'red'"`), []string{
			"before Backend", "after 403", "expressions added: request.method == 'GET' && request.headers['x-team'] == 'red'; expressions removed: request.method == 'GET'",
		}},
		{"rbac opens", rbac(`"request.headers['x-team'] == 'red'"`), rbac(`"request.headers['x-team'] == 'red'", "request.method == 'DELETE'"`), []string{
			"example DELETE", "before 403", "after Backend", "expressions added: request.method == 'DELETE'",
		}},
		{"rbac by path", rbac(`"request.path.startsWith('/public')"`), rbac(`"request.path.startsWith('/public') || request.path == '/health'"`), []string{"/health", "before 403"}},
		{"rbac added", "  headerModifiers: {request: {set: [{name: x, value: \"1\"}]}}\n", rbac(`"request.headers['x-team'] == 'red'"`), []string{"after 403", "request.headers['x-team'] == 'red'"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			has(t, texts(compared(t, folder+policy("shop", one.before), folder+policy("shop", one.after)).Requests), one.want...)
		})
	}
}

// A backend that is gone is shown where it was, and a reference that changed is shown itself: not a
// policy of the rule.
func TestPlacesOfBackends(t *testing.T) {
	rbac := policy("shop", "  rbac: {policy: {matchExpressions: [\"request.method == 'GET'\"]}}\n")
	a, _, found := strings.Cut(backends, "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b}")
	if !found {
		t.Fatal("there is no Backend b")
	}
	without := gateway + a + route("shop", "", to("b", "/")) + rbac
	folder := gateway + backends + route("shop", "", to("b", "/")) + rbac
	has(t, texts(compared(t, folder, without).Requests), "after 500", "at Backend default/b  before")
	hasNot(t, texts(compared(t, folder, without).Requests), "at TrafficPolicy")
	other := gateway + backends + route("shop", "", to("a", "/")) + rbac
	has(t, texts(compared(t, folder, other).Requests), "at HTTPRoute default/shop spec.rules[0].backendRefs[0] after")
	missing := gateway + backends + route("shop", "", to("zz", "/")) + rbac
	has(t, texts(compared(t, folder, missing).Requests), "at HTTPRoute default/shop spec.rules[0].backendRefs after")
}

// A timeout is no other answer, and what policies of backends and CORS say has the API's names.
func TestWordsOfSettings(t *testing.T) {
	folder := gateway + backends + route("shop", "", to("a", "/"))
	timeout := func(limit string) string { return folder + policy("shop", "  timeouts: {request: "+limit+"}\n") }
	report := compared(t, timeout("5s"), timeout("6s"))
	if len(report.Requests) > 0 {
		t.Errorf("a timeout is another answer:\n%s", texts(report.Requests))
	}
	has(t, texts(report.Handling), "because TrafficPolicy timeouts: request 6s; before: request 5s")

	config := func(spec string) string {
		return folder + "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: BackendConfigPolicy\nmetadata: {name: pool}\nspec:\n" +
			"  targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]\n" + spec
	}
	report = compared(t, config("  connectTimeout: 5s\n"), config("  connectTimeout: 6s\n  tcpKeepalive: {keepAliveProbes: 3}\n"))
	has(t, texts(report.Handling), "because BackendConfigPolicy of backend Backend/default/a: connectTimeout 6s (before: 5s), tcpKeepalive set (before: Envoy's default)",
		"at BackendConfigPolicy default/pool")

	cors := func(methods string) string {
		return folder + policy("shop", "  cors: {allowOrigins: [\"https://a.example\"], allowMethods: ["+methods+"]}\n")
	}
	report = compared(t, cors("GET"), cors("GET, PUT"))
	has(t, texts(report.Requests)+texts(report.Handling), "allowMethods: GET, PUT; before: GET")
}

// What explain cannot know of an example is part of the answer.
func TestAnswersKeepTheirCaveats(t *testing.T) {
	limit := policy("shop", "  rateLimit: {local: {tokenBucket: {maxTokens: 1, fillInterval: 60s}}}\n")
	report := compared(t, gateway+backends+route("shop", "", to("a", "/"))+limit, gateway+backends+route("shop", "", to("b", "/"))+limit)
	has(t, texts(report.Requests), "before Backend/default/a, unless", "429", "after Backend/default/b, unless")
}
