package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomStreams are listeners that hand on what comes.
func randomStreams(r *rand.Rand) []string {
	tls := func(mode string) string {
		return pick(r, "443", "80") + ", protocol: TLS, " + pick(r, "", `hostname: "*.example.com", `, "hostname: a.example.com, ") + "tls: {mode: " + mode + "}"
	}
	return []string{"80, protocol: UDP", "8080, protocol: TCP", tls("Passthrough"), tls("Terminate, certificateRefs: [{name: x}]")}
}

// randomStream returns a TCPRoute, TLSRoute or UDPRoute.
func randomStream(r *rand.Rand) (string, string) {
	kind := pick(r, "TCPRoute", "TLSRoute", "UDPRoute")
	body := randomAttachment(r)
	before, rest, hosts := strings.Cut(body, "  hostnames: ")
	switch {
	case hosts && kind != "TLSRoute":
		_, rest, _ = strings.Cut(rest, "\n")
		body = before + rest
	case !hosts && kind == "TLSRoute":
		body = strings.Replace(body, "  rules:\n", `  hostnames: [a.example.com, "*.example.org"]`+"\n  rules:\n", 1)
	}
	body += "  - backendRefs:\n"
	for range 1 + r.IntN(3) {
		body += fmt.Sprintf("    - {name: %s, namespace: %s, weight: %d", pick(r, "s1", "s2"), namespace(r), r.IntN(3)) +
			pick(r, ", port: 80", ", port: 81", ", group: gateway.kgateway.dev, kind: Backend") + "}\n"
	}
	return document("gateway.networking.k8s.io/v1", kind, namespace(r), pick(r, "t1", "t2", "t3"), body)
}

// randomStreamPolicy returns a TrafficPolicy for streams, or for listeners that may have some.
func randomStreamPolicy(r *rand.Rand) (string, string) {
	target := func() string {
		return "{group: gateway.networking.k8s.io, " + pick(r, "kind: "+pick(r, "TCPRoute", "TLSRoute", "UDPRoute")+", name: "+pick(r, "t1", "t2", "t3"),
			"kind: Gateway, name: "+pick(r, "one", "two")+pick(r, "", ", sectionName: "+pick(r, "l0", "l1")),
			"kind: ListenerSet, name: "+pick(r, "one", "other")) + "}"
	}
	body := randomAge(r) + "spec:\n  targetRefs: [" + target() + pick(r, "", ", "+target()) + "]\n"
	if r.IntN(3) == 0 {
		const group = "group: gateway.networking.k8s.io, "
		body += randomSelectors(r, group+"kind: TCPRoute", group+"kind: TLSRoute", group+"kind: UDPRoute")
	}
	body += "  acl: {defaultAction: " + pick(r, "allow", "deny") + pick(r, "", ", rules: [{cidrs: ["+pick(r, "10.0.0.0/8", "10.0.0.1", "10.0.0.1/8", "0.0.0.0/0")+"], action: "+pick(r, "allow", "deny")+"}]") + "}\n"
	body += pick(r, "", "", "", "  rbac: {policy: {matchExpressions: [\"true\"]}}\n")
	return document("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", namespace(r), pick(r, "p3", "p4", "p5"), body)
}

// randomDatagrams returns a Service, or its endpoints, that gets datagrams.
func randomDatagrams(r *rand.Rand) (string, string) {
	if r.IntN(2) == 0 {
		return document("v1", "Service", namespace(r), pick(r, "s1", "s2"), "spec: {ports: [{port: 80, protocol: UDP}"+pick(r, "", ", {port: 80, name: a}")+"]}\n")
	}
	body := fmt.Sprintf("  labels: {kubernetes.io/service-name: %s}\naddressType: IPv4\nports: [{port: 53, protocol: UDP}]\nendpoints: [{addresses: [10.0.0.%d, 10.0.0.7]%s}]\n",
		pick(r, "s1", "s2"), r.IntN(3), pick(r, "", ", conditions: {serving: true, terminating: true}"))
	return document("discovery.k8s.io/v1", "EndpointSlice", namespace(r), pick(r, "e1", "e2", "e4"), body)
}
