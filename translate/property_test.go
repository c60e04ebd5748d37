package translate_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/ir"
)

// TestIncrementalEqualsCold edits a folder at random and compares, after each
// edit, everything published with a cold rebuild of the same objects
// (docs/design/flow.md).
func TestIncrementalEqualsCold(t *testing.T) {
	var telling atomic.Int32
	first, seeds := testsize.Seed(t), testsize.Of(t, 4)
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r, mistakes := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 8))
			options := scoped(seed)
			if seed%3 == 0 {
				options.AddressPool = netip.MustParsePrefix("127.0.0.0/30")
			}
			w, files := newWorldWith(t, options), map[string]string{}
			served, refused, contested, invalid := 0, 0, 0, map[string]bool{}
			for range 60 {
				randomEdit(r, files)
			}
			for range 60 {
				for range 1 + r.IntN(3) {
					randomEdit(r, files)
				}
				if mistakes.IntN(2) == 0 {
					randomMistake(mistakes, files)
				}
				w.apply(tree(files))
				w.checkCold(t)
				if r.IntN(3) == 0 {
					refused += w.refuseSome(t, r)
					w.checkCold(t)
				}
				served, contested = max(served, len(w.resources)), max(contested, len(w.last.Holders))
				for key := range w.invalid {
					if _, told := w.statuses[key]; told {
						invalid[key.Kind] = true
					}
				}
				late, want := w.checkIdle(t), viewText(w.view())
				randomEdit(r, files)
				w.apply(tree(files))
				if got := viewText(late()); got != want {
					t.Fatalf("a later edit changed an earlier View at %s", firstDifference(got, want))
				}
			}
			if served >= 3 && refused > 0 && contested > 0 && len(invalid) > 0 { // a listener, a table, a cluster
				telling.Add(1)
			}
		})
	}
	t.Cleanup(func() { // when the seeds have ended
		if n := telling.Load(); n < int32(seeds)/2 {
			t.Errorf("of %d seeds only %d served a few resources, had parts refused, hosts that several routes want, and invalid objects: the edits prove little", seeds, n)
		}
	})
}

// checkIdle applies nothing, which must change nothing, and returns a View of
// the present state that is not built yet.
func (w *world) checkIdle(t *testing.T) func() *ir.View {
	t.Helper()
	_ = w.ran() // those of edits
	result := w.translator.Apply(store.Change{})
	if ran := w.ran(); len(result.Delta)+len(result.Status)+len(ran) > 0 {
		t.Fatalf("nothing changed, and yet: %v %v %v", result.Delta, result.Status, ran)
	}
	return result.View
}

// randomEdit writes or removes one file. Names repeat, so that references meet
// and miss each other.
func randomEdit(r *rand.Rand, files map[string]string) {
	kinds := []func(*rand.Rand) (string, string){
		randomGateway, randomGateway, randomListenerSet, randomListenerSet, randomRoute, randomRoute, randomLong, randomCalls, randomLink, randomLink, randomLink, randomService, randomSlice, randomBackend, randomGrant, randomNamespace, randomClass,
		randomPolicy, randomPolicy, randomBackendPolicy, randomExtension, randomSecret, randomKeys,
		randomTrust, randomTLSPolicy, randomTLSPolicy,
		randomStream, randomStream, randomDatagrams, randomStreamPolicy,
	}
	name, text := kinds[r.IntN(len(kinds))](r)
	if r.IntN(8) == 0 {
		delete(files, name)
		return
	}
	files[name] = text
}

// randomMistake writes one file with a field that no kind has: of a newcomer, or into
// what serves on as it was before.
func randomMistake(r *rand.Rand, files map[string]string) {
	wrong := map[string]string{}
	for len(wrong) == 0 {
		randomEdit(r, wrong)
	}
	for name, text := range wrong {
		files[name] = text + pick(r, "oops: 1\n", "oops: 1\noh: 2\n")
	}
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func document(apiVersion, kind, namespace, name, body string) (string, string) {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", apiVersion, kind, name)
	if namespace != "" {
		text += "  namespace: " + namespace + "\n"
	}
	return strings.ToLower(kind) + "-" + namespace + "-" + name + ".yaml", text + body
}

func namespace(r *rand.Rand) string { return pick(r, "default", "default", "shop") }

// randomAge returns few values, so that ties are many.
func randomAge(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf("  creationTimestamp: 2026-01-0%dT00:00:00Z\n", 1+r.IntN(2))
}

// randomLabels returns few values, so that selectors select some of the objects.
func randomLabels(r *rand.Rand) string {
	return pick(r, "", "  labels: {tier: a}\n", "  labels: {tier: b, team: x}\n")
}

// randomSelectors selects objects of one of the kinds, each written as "group: G, kind: K".
func randomSelectors(r *rand.Rand, kinds ...string) string {
	return "  targetSelectors: [{" + pick(r, kinds...) + ", matchLabels: " + pick(r, "{tier: a}", "{tier: b}", "{tier: b, team: x}", "{}") + pick(r, "", "", ", sectionName: s0", ", sectionName: l0") + "}]\n"
}

// insisting returns an object with its listeners and the annotation priorityOf.
func insisting(body, listeners string) string {
	return strings.Replace(body, "spec:\n", priorityOf(listeners)+"spec:\n", 1) + listeners
}

// priorityOf returns an annotation of a Gateway or ListenerSet, whose policies go before those of routes or not. It
// depends on the listeners of the object, so that edits change it.
func priorityOf(listeners string) string {
	values := []string{"ShallowMergePreferParent", "DeepMergePreferParent", "DeepMergePreferChild", "PreferParent"}
	if i := len(listeners) % 6; i < len(values) {
		return "  annotations: {kgateway.dev/inherited-policy-priority: " + values[i] + "}\n"
	}
	return ""
}

// randomCalls returns a GRPCRoute.
func randomCalls(r *rand.Rand) (string, string) {
	body := randomAttachment(r)
	for i := range 1 + r.IntN(3) {
		body += fmt.Sprintf("  - name: s%d\n    matches:\n", i) + pick(r, "    - method: {service: a.B}\n", "    - method: {service: a.B, method: Get}\n",
			"    - method: {method: Get}\n", `    - method: {type: RegularExpression, service: "a[.].*"}`+"\n", "    - headers: [{name: x, value: "+pick(r, "v", "w")+"}]\n")
		body += pick(r, "", "    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: b}]}}]\n",
			"    filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: "+pick(r, "p1", "p2")+"}}]\n")
		body += "    backendRefs: [{name: " + pick(r, "s1", "s2") + ", port: 80, weight: " + pick(r, "1", "0") + "}, {group: gateway.kgateway.dev, kind: Backend, name: " + pick(r, "b1", "b2") + "}]\n"
	}
	return document("gateway.networking.k8s.io/v1", "GRPCRoute", namespace(r), pick(r, "r1", "r2", "g1"), body)
}

func randomGateway(r *rand.Rand) (string, string) {
	body := fmt.Sprintf("%s%sspec:\n  gatewayClassName: %s\n%s%s%s  listeners:\n", randomAge(r), randomLabels(r), pick(r, "gatefold", "gatefold", "mine"), randomGatewayTLS(r),
		pick(r, "", "  allowedListeners: {namespaces: {from: "+pick(r, "All", "Same", "Selector, selector: {matchLabels: {team: shop}}")+"}}\n"),
		pick(r, "", "", "  addresses: [{value: 127.0.0.1}]\n", "  addresses: [{value: 127.0.0.2}]\n", "  addresses: [{type: IPAddress}]\n", "  addresses: [{type: Hostname, value: x.example.com}, {value: 127.0.0.1}]\n"))
	return document("gateway.networking.k8s.io/v1", "Gateway", namespace(r), pick(r, "one", "two"), insisting(body, randomListeners(r)))
}

// randomListenerSet returns listeners that meet those of Gateways and of each other.
func randomListenerSet(r *rand.Rand) (string, string) {
	body := fmt.Sprintf("%s%sspec:\n  parentRef: {name: %s, namespace: %s}\n  listeners:\n", randomAge(r), randomLabels(r), pick(r, "one", "one", "two"), namespace(r))
	return document("gateway.networking.k8s.io/v1", "ListenerSet", namespace(r), pick(r, "one", "other", "third"), insisting(body, randomListeners(r)))
}

func randomListeners(r *rand.Rand) (body string) {
	places := []string{"80, protocol: HTTP", "8080, protocol: HTTP", `8080, protocol: HTTP, hostname: "*.example.com"`,
		"8080, protocol: HTTP, hostname: a.example.com", "80, protocol: TCP", "80, protocol: HTTPS, tls: {certificateRefs: [{name: x}]}"}
	places = append(append(places, randomHTTPS(r)...), randomStreams(r)...)
	r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for i := range 1 + r.IntN(4) {
		body += fmt.Sprintf("  - {name: l%d, port: %s", i, places[i])
		if r.IntN(2) == 0 {
			body += ", allowedRoutes: {namespaces: " + pick(r, "{from: All}", "{from: Selector, selector: {matchLabels: {team: shop}}}", "{from: Same}") +
				pick(r, "", ", kinds: [{kind: HTTPRoute}]", ", kinds: [{kind: GRPCRoute}]") + "}"
		}
		body += "}\n"
	}
	return body
}

// randomAttachment begins the spec of a route that names Gateways.
func randomAttachment(r *rand.Rand) string {
	body := randomAge(r) + randomLabels(r) + "spec:\n  parentRefs:\n"
	for range 1 + r.IntN(2) {
		body += fmt.Sprintf("  - {%sname: %s, namespace: %s", pick(r, "", "", "kind: ListenerSet, "), pick(r, "one", "two"), namespace(r))
		if r.IntN(3) == 0 {
			body += ", sectionName: l" + fmt.Sprint(r.IntN(3))
		} else if r.IntN(3) == 0 {
			body += ", port: " + pick(r, "80", "8080")
		}
		body += "}\n"
	}
	if hosts := pick(r, "", "[a.example.com]", `["*.example.com", b.example.com]`); hosts != "" {
		body += "  hostnames: " + hosts + "\n"
	}
	return body + "  rules:\n"
}

func randomRoute(r *rand.Rand) (string, string) {
	body := randomAttachment(r)
	for range 1 + r.IntN(3) {
		body += "  - matches:\n" + randomMatch(r)
		if r.IntN(2) == 0 {
			body += randomMatch(r)
		}
		body += randomAction(r)
	}
	return document("gateway.networking.k8s.io/v1", "HTTPRoute", namespace(r), pick(r, "r1", "r2", "r3", "r4"), body)
}

// randomLong returns a route of up to 96 matches: with others, its hosts have tables that
// are compiled, and some that come and go around the length from which they are.
func randomLong(r *rand.Rand) (string, string) {
	body := randomAge(r) + "spec:\n  parentRefs: [{name: one}, {name: two}, {name: one, namespace: shop}]\n  rules:\n"
	for i := range 4 + r.IntN(12) {
		body += fmt.Sprintf("  - name: s%d\n    matches:\n", i)
		for range 6 {
			body += "    - path: " + pick(r, "{type: PathPrefix, value: %s}", "{type: PathPrefix, value: %s}", "{type: Exact, value: %s}", `{type: RegularExpression, value: "%s[0-9]+"}`) + "\n"
			body = strings.Replace(body, "%s", fmt.Sprintf("/%s%s%d", pick(r, "", "a/", "a/b/"), pick(r, "x", "y", "team-"), r.IntN(40)), 1)
			body += pick(r, "", "", "      method: GET\n", "      headers: [{name: X-Env, value: a}]\n")
		}
		body += randomAction(r)
	}
	return document("gateway.networking.k8s.io/v1", "HTTPRoute", namespace(r), pick(r, "l1", "l2"), body)
}

// randomLink returns a route that delegates, includes or is a child, or all of
// it. Names are few, so that chains, cycles and diamonds come and go.
func randomLink(r *rand.Rand) (string, string) {
	body := randomAge(r) + pick(r, "", "  labels: {delegation.kgateway.dev/label: x}\n", "  labels: {delegation.kgateway.dev/label: x, tier: a}\n") +
		pick(r, "", "  annotations: {kgateway.dev/route-weight: "+pick(r, `"2"`, `"-1"`, "heavy")+"}\n", `  annotations: {delegation.kgateway.dev/inherit-parent-matcher: "true"}`+"\n",
			"  annotations: {kgateway.dev/inherited-policy-priority: "+pick(r, "DeepMergePreferParent", "DeepMergePreferChild", "PreferParent")+"}\n") + "spec:\n"
	body += pick(r, "", "  parentRefs: [{name: one}]\n", "  parentRefs: [{name: one, namespace: default}, {kind: HTTPRoute, name: r1}]\n",
		"  parentRefs: [{kind: HTTPRoute, name: "+pick(r, "r1", "c1", "c2")+pick(r, "", ", sectionName: s0")+"}]\n")
	body += pick(r, "", "", "  hostnames: [a.example.com]\n", "  hostnames: [\"*.example.com\", x.example.com]\n") + "  rules:\n"
	for i := range 1 + r.IntN(2) {
		body += fmt.Sprintf("  - name: s%d\n", i)
		if r.IntN(4) > 0 {
			body += "    matches:\n    - path: " + pick(r, "{value: /a}", "{value: /a/b}", "{value: /}", "{type: Exact, value: /a/b}", "{type: PathPostfix, value: .x}") + "\n"
		}
		switch r.IntN(4) {
		case 0:
			body += "    allowedRoutes: {namespaces: {from: " + pick(r, "All", "Same") + "}}\n"
		case 1:
			body += randomAction(r)
		default:
			body += "    backendRefs: [" + pick(r, "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "+pick(r, "r1", "c1", "c2", `"*"`)+", namespace: "+namespace(r)+"}",
				"{group: delegation.kgateway.dev, kind: label, name: x}") + "]\n"
		}
	}
	return document("gateway.networking.k8s.io/v1", "HTTPRoute", namespace(r), pick(r, "r1", "r2", "c1", "c2", "c3"), body)
}

func randomMatch(r *rand.Rand) string {
	path := pick(r, "{type: Exact, value: /a}", "{type: PathPrefix, value: /a}", "{type: PathPrefix, value: /a/b/}",
		"{type: PathPrefix, value: /}", `{type: RegularExpression, value: "/a[0-9]+"}`, `{type: RegularExpression, value: "/(("}`)
	out := "    - path: " + path + "\n"
	if r.IntN(3) == 0 {
		out += "      method: " + pick(r, "GET", "POST") + "\n"
	}
	if r.IntN(3) == 0 {
		out += "      headers: [{name: X-Env, value: " + pick(r, "a", "b") + "}]\n"
	}
	return out
}

func randomAction(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return "    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example.com}}]\n"
	case 1:
		if r.IntN(2) == 0 {
			return "    filters: [{type: CORS, cors: {allowOrigins: [\"https://" + pick(r, "a", "b") + ".example.com\"]}}]\n    backendRefs: [{name: s1, port: 80}]\n"
		}
		return "    filters: [{type: ExtensionRef, extensionRef: {group: example.com, kind: Filter, name: x}}]\n"
	}
	out := pick(r, "", "    filters: [{type: ExternalAuth, externalAuth: {protocol: "+pick(r, "HTTP, http: {}", "GRPC, grpc: {}")+", backendRef: {name: "+pick(r, "s1", "s2")+", port: 80}}}]\n",
		"    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s2, port: 80}}}]\n",
		"    filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: "+pick(r, "p1", "p2", "p3")+"}}]\n") + "    backendRefs:\n"
	for range 1 + r.IntN(2) {
		ref := fmt.Sprintf("name: %s, namespace: %s, weight: %d", pick(r, "s1", "s2"), namespace(r), r.IntN(3))
		out += "    - {" + ref + pick(r, ", port: 80", ", port: 81", ", group: gateway.kgateway.dev, kind: Backend") + "}\n"
	}
	return out
}

func randomPolicy(r *rand.Rand) (string, string) {
	body := randomAge(r) + pick(r, "", "  annotations: {kgateway.dev/policy-weight: "+pick(r, `"1"`, `"-1"`, "heavy")+"}\n") + "spec:\n"
	target := func() string {
		return "{group: gateway.networking.k8s.io, " + pick(r, "kind: HTTPRoute, name: "+pick(r, "r1", "r2", "c1", "c2")+pick(r, "", ", sectionName: s0"),
			"kind: Gateway, name: "+pick(r, "one", "two")+pick(r, "", ", sectionName: "+pick(r, "l0", "l1")),
			"kind: ListenerSet, name: "+pick(r, "one", "other")+pick(r, "", ", sectionName: "+pick(r, "l0", "l1"))) + "}"
	}
	if r.IntN(3) == 0 {
		const group = "group: gateway.networking.k8s.io, "
		body += randomSelectors(r, group+"kind: HTTPRoute", group+"kind: GRPCRoute", group+"kind: Gateway", group+"kind: ListenerSet")
	}
	body += pick(r, "", "  targetRefs: ["+target()+"]\n", "  targetRefs: ["+target()+", "+target()+"]\n")
	body += pick(r, "", "  transformation: {response: {set: [{name: "+pick(r, "x-a", "x-b", "host")+", value: "+pick(r, "a", "b")+"}]}}\n")
	body += pick(r, "", "  timeouts: {request: "+pick(r, "1s", "2s")+"}\n") + pick(r, "", "  buffer: {maxRequestSize: 1Ki}\n", "  buffer: {disable: {}}\n")
	body += pick(r, "", "", "  cors: {allowOrigins: [\"https://"+pick(r, "a", "b")+".example.com\"]}\n", "  cors: {disable: {}}\n")
	body += pick(r, "", "  csrf: {percentageEnabled: "+pick(r, "0", "100")+"}\n") + pick(r, "", "  retry: {retryOn: [5xx], attempts: "+pick(r, "0", "2")+"}\n")
	body += pick(r, "", "  headerModifiers: {request: {set: [{name: x-m, value: "+pick(r, "a", "b")+"}]}}\n")
	body += pick(r, "", "", "  apiKeyAuth: {secretRef: {name: keys}, clientIdHeader: "+pick(r, "x-one", "x-two", "authorization")+"}\n", "  apiKeyAuth: {disable: {}}\n")
	ref := "{name: " + pick(r, "x1", "x2") + pick(r, "", ", namespace: "+namespace(r)) + "}"
	body += pick(r, "", "", "  extAuth: {extensionRef: "+ref+"}\n", "  extAuth: {disable: {}}\n", "  extProc: {extensionRef: "+ref+"}\n",
		"  rateLimit: {global: {extensionRef: "+ref+", descriptors: [{entries: [{type: Path}]}]}}\n")
	return document("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", namespace(r), pick(r, "p1", "p2", "p3"), body)
}

// randomKeys returns a Secret of API keys.
func randomKeys(r *rand.Rand) (string, string) {
	return document("v1", "Secret", namespace(r), "keys", "stringData: {"+pick(r, "a: k1", "a: k2", "a: k1, b: k2", "a: k1, b: k1")+"}\n")
}

func randomExtension(r *rand.Rand) (string, string) {
	service := fmt.Sprintf("grpcService: {backendRef: {name: %s, namespace: %s%s}}", pick(r, "s1", "s2"), namespace(r),
		pick(r, ", port: 80", ", port: 81", ", group: gateway.kgateway.dev, kind: Backend"))
	asked := strings.Replace(service, "grpcService: {", "httpService: {pathPrefix: "+pick(r, "/a", "/b")+", authorizationResponse: {headersToBackend: [x-user]}, ", 1)
	body := "spec: {" + pick(r, "extAuth: {"+asked+"}", "extAuth: {"+service+pick(r, "", ", failOpen: true", ", clearRouteCache: true")+"}", "extProc: {"+service+"}",
		"rateLimit: {"+service+", domain: a}") + "}\n"
	body = pick(r, "", "", "  annotations: {gatefold.io/used-by: "+pick(r, "shop", "default", `"*"`)+"}\n") + body
	return document("gateway.kgateway.dev/v1alpha1", "GatewayExtension", namespace(r), pick(r, "x1", "x2"), body)
}

func randomBackendPolicy(r *rand.Rand) (string, string) {
	body := randomAge(r) + pick(r, "", "  annotations: {kgateway.dev/policy-weight: "+pick(r, `"1"`, `"-1"`, "heavy")+"}\n") + "spec:\n"
	if kinds := []string{`group: "", kind: Service`, "group: gateway.kgateway.dev, kind: Backend"}; r.IntN(3) == 0 {
		body += randomSelectors(r, kinds...)
	} else {
		body += "  targetRefs: [{" + pick(r, kinds...) + ", name: " + pick(r, "s1", "s2") + "}]\n"
	}
	body += pick(r, "", "  connectTimeout: "+pick(r, "1s", "2s")+"\n") + pick(r, "", "  loadBalancer: {random: {}}\n", "  tls: {}\n")
	body += pick(r, "", "  healthCheck: {timeout: 1s, interval: 1s, unhealthyThreshold: 1, healthyThreshold: 1, "+pick(r, "tcp: {}", "grpc: {}", "http: {path: a}")+"}\n")
	return document("gateway.kgateway.dev/v1alpha1", "BackendConfigPolicy", namespace(r), pick(r, "b1", "b2", "b3"), body)
}

func randomService(r *rand.Rand) (string, string) {
	body := pick(r, "spec: {ports: [{port: 80}]}\n", "spec: {ports: [{port: 80, name: a}, {port: 81, name: b}]}\n",
		"spec: {type: ExternalName, externalName: back.example.com}\n")
	return document("v1", "Service", namespace(r), pick(r, "s1", "s2"), randomLabels(r)+body)
}

func randomSlice(r *rand.Rand) (string, string) {
	body := fmt.Sprintf("  labels: {kubernetes.io/service-name: %s}\naddressType: IPv4\nports: [{port: %d%s}]\nendpoints: [{addresses: [10.0.0.%d]%s}]\n",
		pick(r, "s1", "s2"), pick(r, 8080, 9090), pick(r, "", ", name: a"), r.IntN(3), pick(r, "", ", conditions: {ready: false}"))
	return document("discovery.k8s.io/v1", "EndpointSlice", namespace(r), pick(r, "e1", "e2", "e3"), body)
}

func randomBackend(r *rand.Rand) (string, string) {
	body := fmt.Sprintf("spec: {type: Static, static: {hosts: [{host: %s, port: 80}]}}\n", pick(r, "10.0.0.1", "10.0.0.2", "back.example.com"))
	return document("gateway.kgateway.dev/v1alpha1", "Backend", namespace(r), pick(r, "s1", "s2"), randomLabels(r)+body)
}

func randomGrant(r *rand.Rand) (string, string) {
	body := fmt.Sprintf("spec:\n  from: [{group: %s, namespace: %s}]\n  to: [%s]\n",
		pick(r, "gateway.networking.k8s.io, kind: HTTPRoute", "gateway.networking.k8s.io, kind: "+pick(r, "TCPRoute", "TLSRoute", "UDPRoute"), "gateway.kgateway.dev, kind: GatewayExtension",
			"gateway.networking.k8s.io, kind: Gateway"), namespace(r),
		pick(r, `{group: "", kind: Service}`, `{group: gateway.kgateway.dev, kind: Backend, name: s1}`, `{group: "", kind: Secret}`))
	return document("gateway.networking.k8s.io/v1", "ReferenceGrant", namespace(r), pick(r, "g1", "g2"), body)
}

func randomNamespace(r *rand.Rand) (string, string) {
	return document("v1", "Namespace", "", pick(r, "default", "shop"), "  labels: {team: "+pick(r, "shop", "web")+"}\n"+
		pick(r, "", "", "  annotations: {gatefold.io/hostnames: "+pick(r, "a.example.com", "'*.example.com'", "'*.a.example.com, b.com'", "example.org", "'*'")+"}\n"))
}

func randomClass(r *rand.Rand) (string, string) {
	return document("gateway.networking.k8s.io/v1", "GatewayClass", "", "mine",
		"spec: {controllerName: "+pick(r, "gatefold.io/gateway-controller", "example.com/other")+"}\n")
}
