package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/plan"
)

// tcp is a Gateway with a TCP listener and a route from it.
func tcp(backend, more string) string {
	return `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: gatefold, listeners: [{name: db, port: 5432, protocol: TCP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: db}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: ` + backend + `}]}]
` + backends + more
}

// tls is a Gateway with TLS listeners of the hostnames, and a TLSRoute for each, to a backend.
func tls(routes ...[2]string) string {
	text, listeners := "", []string{}
	for i, one := range routes {
		name := string(rune('a' + i))
		listeners = append(listeners, "{name: "+name+", port: 8443, protocol: TLS, hostname: \""+one[0]+"\", tls: {mode: Passthrough}}")
		text += `---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: ` + name + `}
spec:
  parentRefs: [{name: web, sectionName: ` + name + `}]
  hostnames: ["` + one[0] + `"]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: ` + one[1] + `}]}]
`
	}
	return `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: gatefold, listeners: [` + strings.Join(listeners, ", ") + `]}
` + backends + text
}

// Connections are compared as explain answers them.
func TestConnections(t *testing.T) {
	guard := func(spec string) string {
		return "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: guard}\nspec:\n" +
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: TCPRoute, name: db}]\n" + spec
	}
	const acl, wider = "  acl: {defaultAction: deny, rules: [{cidrs: [10.0.0.0/9], action: allow}]}\n", "  acl: {defaultAction: deny, rules: [{cidrs: [10.0.0.0/8], action: allow}]}\n"
	for _, one := range []struct {
		name, before, after string
		want                []string
	}{
		{"another backend", tcp("a", ""), tcp("b", ""), []string{
			"example  tcp://any.example:5432", "before Backend/default/a\nafter Backend/default/b", "every connection to listener db", "at TCPRoute default/db spec.rules[0].backendRefs after",
		}},
		{"acl lost", tcp("a", guard(acl)), tcp("a", ""), []string{
			"from 203.0.113.7", "before closed: TrafficPolicy default/guard (spec.acl) denies", "after Backend/default/a",
			"acl of the connections: removed; before: allow 10.0.0.0/9, others are closed", "at TrafficPolicy default/guard spec.acl before",
		}},
		{"acl grows", tcp("a", guard(acl)), tcp("a", guard(wider)), []string{"from 10.128.0.1", "ranges added: allow 10.0.0.0/8; ranges removed: allow 10.0.0.0/9"}},
		{"a wildcard takes over", tls([2]string{"*.example.com", "a"}, [2]string{"shop.example.com", "b"}), tls([2]string{"*.example.com", "a"}), []string{
			"example  tls://shop.example.com:8443", "before Backend/default/b/raw\nafter Backend/default/a/raw", "TLSRoute default/a sends to Backend/default/a/raw; before: TLSRoute default/b sends to Backend/default/b/raw",
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			report := compared(t, one.before, one.after)
			has(t, texts(report.Requests), one.want...)
			if lost := strings.HasSuffix(one.name, "lost"); lost != slices.ContainsFunc(report.Policies, func(p plan.PolicyChange) bool { return p.Kind == plan.Removed && p.Field == "acl" }) {
				t.Errorf("policies: %+v", report.Policies)
			}
		})
	}
	if report := compared(t, tls([2]string{"*.example.com", "a"}), tls([2]string{"*.example.com", "a"})); report.Changes {
		t.Errorf("%+v", report)
	}
}

// A listener says whose connections Envoy drains: where filter chains alone differ, those of the changed ones.
func TestDrainingListeners(t *testing.T) {
	before := tls([2]string{"a.example.com", "a"}, [2]string{"b.example.com", "a"})
	for _, one := range []struct {
		name, after string
		drains      string
	}{
		{"another backend", tls([2]string{"a.example.com", "a"}, [2]string{"b.example.com", "b"}), "b"},
		{"another hostname", tls([2]string{"a.example.com", "a"}, [2]string{"c.example.com", "a"}), "b"},
		{"one more", tls([2]string{"a.example.com", "a"}, [2]string{"b.example.com", "a"}, [2]string{"c.example.com", "a"}), ""},
		{"gone", strings.Replace(before, "8443", "8444", 2), "a b"},
	} {
		t.Run(one.name, func(t *testing.T) {
			report := compared(t, before, one.after)
			if len(report.Listeners) == 0 {
				t.Fatal("no listener differs")
			}
			l := report.Listeners[0]
			if draining := strings.Join(l.Draining, " "); draining != one.drains || l.Drains != (draining != "") || l.Kind == plan.Changed && l.What == "" {
				t.Errorf("%+v", l)
			}
		})
	}
}

// A 503 of another backend without endpoints is the same answer.
func TestSameStatusOfAnotherBackend(t *testing.T) {
	empty := func(backend string) string {
		return gateway + route("shop", "", "  - backendRefs: [{name: "+backend+", port: 80}]\n") + service("a") + service("b")
	}
	report := compared(t, empty("a"), empty("b"))
	if len(report.Requests) > 0 || len(report.Handling) != 1 {
		t.Errorf("requests:\n%s\nhandling:\n%s", texts(report.Requests), texts(report.Handling))
	}
}

// service is a Service without endpoints.
func service(name string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {ports: [{port: 80}]}\n"
}
