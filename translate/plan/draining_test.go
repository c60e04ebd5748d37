package plan_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// shared is a Gateway with listeners of all protocols for connections, most of them on one port.
const shared = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: raw, port: 8443, protocol: TLS, hostname: "*.raw.example", tls: {mode: Passthrough}}
  - {name: ended, port: 8443, protocol: TLS, hostname: "*.ended.example", tls: {mode: Terminate, certificateRefs: [{name: one}]}}
  - {name: https, port: 8443, protocol: HTTPS, hostname: https.example, tls: {certificateRefs: [{name: one}]}}
  - {name: db, port: 5432, protocol: TCP}
  - {name: http, port: 80, protocol: HTTP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: a}
spec: {parentRefs: [{name: web, sectionName: raw}], hostnames: [a.raw.example], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: b}
spec: {parentRefs: [{name: web, sectionName: ended}], hostnames: [b.ended.example], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: db}
spec: {parentRefs: [{name: web, sectionName: db}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: h}
spec: {parentRefs: [{name: web, sectionName: https}, {name: web, sectionName: http}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: acl}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: TLSRoute, name: a}], acl: {defaultAction: allow, rules: [{cidrs: [192.0.2.0/24], action: deny}]}}
` + backends

// secret is a Secret with a certificate for every hostname.
func secret(t *testing.T, name string) string {
	certificate, key := envoytest.FixedAuthority(t, name).Issue("*.example")
	encoded := base64.StdEncoding.EncodeToString
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\ntype: kubernetes.io/tls\ndata: {tls.crt: " + encoded(certificate) + ", tls.key: " + encoded(key) + "}\n"
}

// An edit drains the connections that it is about, and no others: Envoy keeps those of filter chains that
// stay as they are.
func TestEditsDrainNoConnectionsElsewhere(t *testing.T) {
	before := shared + secret(t, "one") + secret(t, "two")
	for _, one := range []struct{ name, old, new, drains string }{
		{"a hostname more", "hostnames: [a.raw.example]", "hostnames: [a.raw.example, c.raw.example]", ""},
		{"a hostname more, of TLS that ends here", "hostnames: [b.ended.example]", "hostnames: [a.ended.example, b.ended.example]", ""},
		{"another hostname", "hostnames: [a.raw.example]", "hostnames: [c.raw.example]", "raw"},
		{"a TLSRoute more", "kind: TLSRoute\nmetadata: {name: a}", "kind: TLSRoute\nmetadata: {name: c}\nspec: {parentRefs: [{name: web}], hostnames: [c.raw.example, c.ended.example], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: TLSRoute\nmetadata: {name: a}", ""},
		{"a TLSRoute for what nothing else takes", "kind: TLSRoute\nmetadata: {name: a}", "kind: TLSRoute\nmetadata: {name: c}\nspec: {parentRefs: [{name: web, sectionName: raw}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: TLSRoute\nmetadata: {name: a}", ""},
		{"a listener more", "  - {name: db,", "  - {name: more, port: 8443, protocol: TLS, hostname: more.example, tls: {mode: Passthrough}}\n  - {name: db,", ""},
		{"an HTTPS listener more", "  - {name: db,", "  - {name: more, port: 8443, protocol: HTTPS, hostname: more.example, tls: {certificateRefs: [{name: one}]}}\n  - {name: db,", ""},
		{"a listener less", "  - {name: https, port: 8443, protocol: HTTPS, hostname: https.example, tls: {certificateRefs: [{name: one}]}}\n", "", "https"},
		{"another certificate", "hostname: https.example, tls: {certificateRefs: [{name: one}]}", "hostname: https.example, tls: {certificateRefs: [{name: two}]}", "https"},
		{"a port more", "  - {name: db,", "  - {name: more, port: 5433, protocol: TCP}\n  - {name: db,", ""},
		{"another backend", "name: b}]}]}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "name: a}]}]}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "db"},
		{"another endpoint", "port: 9002", "port: 9003", ""},
		{"another acl", "192.0.2.0/24", "192.0.3.0/24", "raw"},
		{"labels and routes that may attach", "kind: Gateway\nmetadata: {name: web}", "kind: Gateway\nmetadata: {name: web, labels: {a: b}, annotations: {c: d}}", ""},
		{"who may attach", "  - {name: db, port: 5432,", "  - {name: db, allowedRoutes: {namespaces: {from: All}}, port: 5432,", ""},
		{"an HTTPRoute", "metadata: {name: h}\nspec: {", "metadata: {name: h}\nspec: {hostnames: [https.example], ", ""},
		{"an acl of another listener", "kind: TLSRoute, name: a}]", "kind: TLSRoute, name: a}, {group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: db}]", "db"},
		{"a health check", "kind: TrafficPolicy\n", "kind: BackendConfigPolicy\nmetadata: {name: b}\nspec: {targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}], connectTimeout: 3s}\n---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\n", ""},
		{"a ListenerSet", "kind: TLSRoute\nmetadata: {name: a}", "kind: ListenerSet\nmetadata: {name: set}\nspec: {parentRef: {name: web}, listeners: [{name: s, port: 8443, protocol: TLS, hostname: set.example, tls: {mode: Passthrough}}]}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: TLSRoute\nmetadata: {name: a}", ""},
		{"a listener that a listener covers", "  - {name: db,", "  - {name: more, port: 8443, protocol: TLS, hostname: x.raw.example, tls: {mode: Passthrough}}\n  - {name: db,", ""},
		{"the whole of a port", "- {name: raw, port: 8443,", "- {name: raw, port: 8444,", "raw"},
	} {
		t.Run(one.name, func(t *testing.T) {
			after := strings.Replace(before, one.old, one.new, 1)
			if after == before {
				t.Fatal("no edit")
			}
			var draining []string
			for _, l := range compared(t, before, after).Listeners {
				draining = append(draining, l.Draining...)
				t.Log(l.What)
			}
			slices.Sort(draining)
			if got := strings.Join(draining, " "); got != one.drains {
				t.Errorf("drains %q, want %q", got, one.drains)
			}
		})
	}
}
