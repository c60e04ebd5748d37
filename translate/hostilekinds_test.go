package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// TestHostileKinds puts random objects of every kind beside an innocent team, as many as the
// limits of their kinds allow, one more, and many more. Path policies are in force, and the
// teams share a Gateway. What the innocent team's files come to is the same, byte for byte, its
// edits run the rules that they run without the attack, the work for the attack is
// bounded by what is written, and problems name the attacker's files alone. It is the same while parts of the attack come
// and go.
func TestHostileKinds(t *testing.T) {
	first := testsize.Seed(t)
	told := 0
	for seed := first; seed < first+uint64(testsize.Of(t, 10)); seed++ {
		r, w := rand.New(rand.NewPCG(seed, 12)), newFenced(t, translate.Options{MaxCopies: 5000, Weighted: seed%2 == 0})
		files := innocentTeam("/a")
		if problems := w.apply(tree(files)); len(problems) > 0 {
			t.Fatal(problemsText(problems), problems[0].Message)
		}
		want := innocentOutput(w)
		files["innocent/routes.yaml"] = innocentTeam("/edited")["innocent/routes.yaml"]
		w.apply(tree(files))
		edited, ran := innocentOutput(w), slices.Clone(w.rebuilt)
		files["innocent/routes.yaml"] = innocentTeam("/a")["innocent/routes.yaml"]
		w.apply(tree(files))
		if want == edited || !strings.Contains(edited, "/edited") {
			t.Fatal("the innocent team's output does not show its edit")
		}

		attacks := hostileKinds()
		maps.Copy(attacks, hostileCounts())
		kinds := slices.Sorted(maps.Keys(attacks))
		var chosen []string
		for i := range 1 + r.IntN(4) {
			kind := kinds[r.IntN(len(kinds))]
			chosen = append(chosen, kind)
			files[fmt.Sprintf("attacker/%d-%s.yaml", i, kind)] = attacks[kind](r, fmt.Sprintf("x%d", i))
		}
		name := fmt.Sprintf("seed %d, %s", seed, strings.Join(chosen, ", "))
		for _, p := range w.apply(tree(files)) {
			if !strings.HasPrefix(p.File, "attacker/") && p.Code != "Contested" { // who keeps something is told, too, by a warning
				t.Errorf("%s: a problem of %s:%d %s: %s", name, p.File, p.Line, p.Code, p.Message)
			}
			told++
		}
		if got := innocentOutput(w); got != want {
			t.Fatalf("%s: the innocent team's output changes at %s", name, firstDifference(got, want))
		}
		checkWork(t, name, w, files)
		for i, kind := range chosen { // listeners and others come and go
			file := fmt.Sprintf("attacker/%d-%s.yaml", i, kind)
			for _, text := range []string{"", attacks[kind](r, fmt.Sprintf("x%d", i)), files[file]} {
				if files[file] = text; text == "" {
					delete(files, file)
				}
				w.apply(tree(files))
				if got := innocentOutput(w); got != want {
					t.Fatalf("%s: without or with another %s, the innocent team's output changes at %s", name, kind, firstDifference(got, want))
				}
			}
		}
		files["innocent/routes.yaml"] = innocentTeam("/edited")["innocent/routes.yaml"]
		w.apply(tree(files))
		if got := innocentOutput(w); got != edited {
			t.Fatalf("%s: the innocent team's edit changes at %s", name, firstDifference(got, edited))
		}
		if got := w.rebuilt; len(got) > len(ran)+10 {
			t.Errorf("%s: the innocent team's edit runs %d rules and %d without the attack: %.3000q", name, len(got), len(ran), got)
		}
		if seed%5 == 0 {
			w.checkCold(t)
		}
	}
	if told == 0 {
		t.Error("no attack came to a limit: the test shows nothing")
	}
}

// mostHeap is half of what the documentation promises beside an attack (docs/operations.md).
const mostHeap = 512 << 20

// checkWork compares what a folder made gatefold keep and publish with what is written.
func checkWork(t *testing.T, name string, w *world, files map[string]string) {
	t.Helper()
	written, cells, published := 0, 0, 0
	for _, text := range files {
		written += len(text)
	}
	for _, n := range w.translator.Cells() {
		cells += n
	}
	for _, update := range w.resources {
		published += len(update.Resource.Body)
	}
	heap := liveHeap()
	t.Logf("%s: %d bytes written, %d cells, %d bytes published, %d MiB of heap, %d rules ran", name, written, cells, published, heap>>20, len(w.rebuilt))
	if heap > mostHeap {
		t.Errorf("%s: %d bytes of live heap", name, heap)
	}
	if most := 10_000 + written; len(w.rebuilt) > most { // a restart beside the attack runs them
		t.Errorf("%s: %d rules ran for %d bytes", name, len(w.rebuilt), written)
	}
	if most := 10_000 + written; cells > most {
		t.Errorf("%s: %d cells for %d bytes", name, cells, written)
	}
	if most := 1<<20 + 300*written; published > most {
		t.Errorf("%s: %d bytes are published for %d", name, published, written)
	}
}

// innocentOutput is all that the innocent team's objects come to: rules, clusters, resources
// of its own, and statuses.
func innocentOutput(w *world) string {
	var b strings.Builder
	b.WriteString(innocentRules(w))
	view := w.view()
	for _, name := range slices.Sorted(maps.Keys(view.Clusters)) {
		if strings.Contains(name, "innocent") {
			fmt.Fprintln(&b, mustJSON(view.Clusters[name]))
		}
	}
	for _, at := range slices.Sorted(maps.Keys(w.resources)) {
		if strings.Contains(at, "innocent") {
			fmt.Fprintf(&b, "%s %x\n", at, w.resources[at].Resource.Body)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.statuses), manifest.CompareKeys) {
		if key.Namespace == "innocent" {
			fmt.Fprintln(&b, key, mustJSON(w.statuses[key]))
		}
	}
	return b.String()
}

// innocentTeam is a platform with a Gateway that two teams share, and the files of one.
func innocentTeam(path string) map[string]string {
	return map[string]string{
		"platform/infra.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: v1
kind: Namespace
metadata: {name: innocent, labels: {team: innocent}, annotations: {gatefold.io/paths: "innocent/**", gatefold.io/hostnames: "innocent.example.com, grpc.innocent.example.com, www.example.com", gatefold.io/gateway-ports: "8080"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: attacker, annotations: {gatefold.io/paths: "attacker/**", gatefold.io/hostnames: "*.attacker.example.com, www.example.com", gatefold.io/gateway-ports: "9000-9100"}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: infra}
spec:
  gatewayClassName: gatefold
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root, namespace: infra}
spec:
  parentRefs: [{name: eg}]
  hostnames: [www.example.com]
  rules:
  - {name: in, matches: [{path: {value: /in}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: kid, namespace: innocent}]}
  - {name: at, matches: [{path: {value: /at}}], allowedRoutes: {namespaces: {from: All}}}
`,
		"attacker/kid.yaml": hostileChild("kid", "", "[{matches: [{path: {value: /kid}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: own}]}]") + "\n---\n" +
			hostileObject(hostileGroup, "Backend", "own", "{type: Static, static: {hosts: [{host: 10.9.0.1, port: 3000}]}}"),
		"innocent/services.yaml": `apiVersion: v1
kind: Service
metadata: {name: s, namespace: innocent}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s, namespace: innocent, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{port: 3000}]
endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: b, namespace: innocent}
spec: {type: Static, static: {hosts: [{host: 10.0.0.3, port: 3000}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: BackendConfigPolicy
metadata: {name: p, namespace: innocent}
spec: {targetRefs: [{group: "", kind: Service, name: s}], connectTimeout: 3s}
`,
		"innocent/routes.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: innocent, labels: {app: x}}
spec:
  parentRefs: [{name: eg, namespace: infra}]
  hostnames: [innocent.example.com]
  rules:
  - {name: s, matches: [{path: {value: ` + path + `}}], backendRefs: [{name: s, port: 80, weight: 3}, {group: gateway.kgateway.dev, kind: Backend, name: b}]}
  - {name: b, matches: [{path: {value: /b}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: g, namespace: innocent}
spec:
  parentRefs: [{name: eg, namespace: infra}]
  hostnames: [grpc.innocent.example.com]
  rules: [{matches: [{method: {service: a.B}}], backendRefs: [{name: s, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: kid, namespace: innocent}
spec:
  parentRefs: [{kind: HTTPRoute, name: root, namespace: infra, sectionName: in}]
  rules: [{matches: [{path: {value: /in/kid}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: innocent}
stringData: {alice: k-alice}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: keys, namespace: innocent}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: kid}]
  apiKeyAuth: {secretRef: {name: keys}, keySources: [{header: x-innocent-key}], clientIdHeader: x-innocent}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: p, namespace: innocent}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  headerModifiers: {response: {set: [{name: x-team, value: innocent}]}}
`,
	}
}

// around returns a number near a limit.
func around(r *rand.Rand, limit int) int {
	return max(1, []int{1, limit / 2, limit - 1, limit, limit + 1, 4 * limit}[r.IntN(6)])
}

// list writes n items in flow style.
func list(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// documents joins n documents.
func documents(n int, document func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("---\n" + document(i) + "\n")
	}
	return b.String()
}

// hostileObject writes an object of the attacker.
func hostileObject(version, kind, name, spec string) string {
	return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: attacker, labels: {app: x}}\nspec: " + spec
}

const (
	hostileGateway = "gateway.networking.k8s.io/v1"
	hostileGroup   = "gateway.kgateway.dev/v1alpha1"
	hostileParent  = "parentRefs: [{name: eg, namespace: infra}]"
)

// hostileHTTP is a route of the attacker on the shared Gateway.
func hostileHTTP(name, hostnames, rules string) string {
	return hostileObject(hostileGateway, "HTTPRoute", name, "{"+hostileParent+", hostnames: "+hostnames+", rules: "+rules+"}")
}

// hostileKinds write the documents of one attack, by its name.
func hostileKinds() map[string]func(r *rand.Rand, name string) string {
	host := func(i int) string { return fmt.Sprintf("h%d.attacker.example.com", i) }
	path := func(i int) string { return fmt.Sprintf("{path: {value: /p%d}}", i) }
	own := func(name string) string { return list(1, func(int) string { return name + ".attacker.example.com" }) }
	return map[string]func(r *rand.Rand, name string) string{
		"targets": func(r *rand.Rand, name string) string {
			targets, headers := around(r, 16), around(r, 16)
			return documents(20, func(i int) string {
				return hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), "{targetRefs: "+list(targets, func(j int) string {
					return fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}", pick(r, "r", "x0", "x1", fmt.Sprint("t", j)))
				})+", headerModifiers: {request: {set: "+list(headers, func(j int) string { return fmt.Sprintf("{name: x-%d, value: a}", j) })+"}}}")
			})
		},
		"selectors": func(r *rand.Rand, name string) string {
			selectors := around(r, 16)
			return documents(30, func(i int) string {
				return hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), "{targetSelectors: "+list(selectors, func(j int) string {
					return fmt.Sprintf("{group: gateway.networking.k8s.io, kind: %s, matchLabels: {app: %s}}", pick(r, "HTTPRoute", "Gateway"), pick(r, "x", fmt.Sprint("y", j)))
				})+", buffer: {maxRequestSize: 1Ki}}")
			})
		},
		"selected": func(r *rand.Rand, _ string) string {
			bombs := policyBombs()
			return bombs[pick(r, slices.Sorted(maps.Keys(bombs))...)](around(r, 64))
		},
		"hostnames": func(r *rand.Rand, name string) string {
			hosts, rules, matches := around(r, 16), 1+r.IntN(17), around(r, 8)
			return documents(8, func(int) string {
				return hostileHTTP(name, list(hosts, host), list(rules, func(i int) string {
					return "{matches: " + list(matches, func(j int) string { return path(i*matches + j) }) + "}"
				}))
			})
		},
		"copies": func(r *rand.Rand, name string) string {
			hosts, rules, matches, headers := around(r, 16), 1+r.IntN(16), around(r, 8), around(r, 16)
			values := list(headers, func(i int) string {
				return fmt.Sprintf("{name: x-%d, value: '%s'}", i, strings.Repeat("v", around(r, 400)))
			})
			match := pick(r, "path: {value: /p%d}", "path: {type: RegularExpression, value: '/p%d/(a|b)*'}", "path: {value: /p%d}, headers: "+values, "path: {value: /p%d}, queryParams: [{name: q, type: RegularExpression, value: '[a-z]{1,30}'}]")
			rest := pick(r, "", "filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: "+values+"}}]", "filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: "+name+"}}]",
				"backendRefs: "+list(headers, func(int) string {
					return "{name: s, namespace: innocent, port: 80, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x, value: v}]}}]}"
				}))
			fields := pick(r, "headerModifiers: {response: {set: "+values+"}}", "cors: {allowOrigins: ['https://*.example.com', 'https://*.example.org']}", "transformation: {request: {set: "+values+"}}")
			head, parent := hostileParent+", hostnames: "+list(hosts, host), ""
			if r.IntN(3) == 0 { // below a root
				head, parent = "parentRefs: [{kind: HTTPRoute, group: gateway.networking.k8s.io, name: "+name+"}]", "---\n"+hostileHTTP(name, list(hosts, host), "[{matches: [{path: {value: /}}], allowedRoutes: {}}]")+"\n"
			}
			return documents(around(r, 8), func(i int) string {
				return hostileObject(hostileGateway, "HTTPRoute", fmt.Sprint(name, i), "{"+head+", rules: "+list(rules, func(j int) string {
					return "{matches: " + list(matches, func(k int) string { return "{" + fmt.Sprintf(match, j*matches+k) + "}" }) + ", " + rest + "}"
				})+"}")
			}) + parent + "---\n" + hostileObject(hostileGroup, "TrafficPolicy", name, "{"+pick(r, "", "targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: x}}], ")+fields+"}")
		},
		"foreign hostnames": func(r *rand.Rand, name string) string {
			return documents(20, func(i int) string {
				return hostileHTTP(fmt.Sprint(name, i), pick(r, "[innocent.example.com]", "['*.example.com']", "[]", "[INNOCENT.example.com]"), "[{matches: ["+pick(r, "{path: {value: /a}}", "{path: {type: Exact, value: /a}}", "{path: {value: /}}")+"]}]")
			})
		},
		"parents": func(r *rand.Rand, name string) string {
			parents := around(r, 32)
			return hostileObject(hostileGateway, "HTTPRoute", name, "{parentRefs: "+list(parents, func(i int) string {
				return fmt.Sprintf("{name: eg, namespace: infra, sectionName: %s}", pick(r, "http", fmt.Sprint("l", i)))
			})+", hostnames: "+list(16, host)+"}")
		},
		"listener sets": func(r *rand.Rand, name string) string {
			listeners := around(r, 64)
			return documents(3, func(i int) string {
				return hostileObject(hostileGateway, "ListenerSet", fmt.Sprint(name, i), "{parentRef: {name: eg, namespace: infra}, listeners: "+list(listeners, func(j int) string {
					return fmt.Sprintf("{name: l%d, port: %d, protocol: HTTP, hostname: %s}", j, pick(r, 8080, 9000, 9000+j), pick(r, host(j), "innocent.example.com"))
				})+"}")
			})
		},
		"gateways": func(r *rand.Rand, name string) string {
			listeners := around(r, 64)
			return documents(10, func(i int) string {
				return hostileObject(hostileGateway, "Gateway", fmt.Sprint(name, i), "{gatewayClassName: gatefold, listeners: "+list(listeners, func(j int) string {
					return fmt.Sprintf("{name: l%d, port: %d, protocol: %s, hostname: %s}", j, pick(r, 8080, 9000+j, 9000), pick(r, "HTTP", "HTTP", "HTTPS", "X"), host(j))
				})+"}")
			})
		},
		"endpoints": func(r *rand.Rand, name string) string {
			endpoints := around(r, 1000)
			return hostileObject("v1", "Service", name, "{ports: "+list(around(r, 100), func(i int) string { return fmt.Sprintf("{name: p%d, port: %d}", i, i+1) })+"}") + "\n" +
				documents(5, func(i int) string {
					return fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %s-%d, namespace: attacker, labels: {kubernetes.io/service-name: %s}}\naddressType: IPv4\nports: [{name: p0, port: 3000}, {name: p1, port: 3001}]\nendpoints: %s",
						name, i, name, list(endpoints, func(j int) string { return fmt.Sprintf("{addresses: [10.%d.%d.%d]}", i, j/250, j%250+1) }))
				}) + "---\n" + hostileHTTP(name, own(name), list(16, func(i int) string { return fmt.Sprintf("{backendRefs: [{name: %s, port: %d}]}", name, i%3+1) }))
		},
		"backends": func(r *rand.Rand, name string) string {
			hosts, refs := around(r, 100), around(r, 16)
			return documents(20, func(i int) string {
				return hostileObject(hostileGroup, "Backend", fmt.Sprint(name, i), "{type: Static, static: {hosts: "+list(hosts, func(j int) string {
					return fmt.Sprintf("{host: %s, port: %d}", pick(r, "10.1.0.1", "169.254.169.254", "h.example.com"), j+1)
				})+"}}")
			}) + "---\n" + hostileHTTP(name, own(name), list(16, func(int) string {
				return "{backendRefs: " + list(refs, func(i int) string {
					return fmt.Sprintf("{group: gateway.kgateway.dev, kind: Backend, name: %s%d, weight: %d}", name, i%20, pick(r, 0, 1, 1_000_000, 1_000_001, -1))
				}) + "}"
			}))
		},
		"mirrors": func(r *rand.Rand, name string) string {
			mirrors := around(r, 16)
			return hostileObject(hostileGroup, "Backend", name, "{type: Static, static: {hosts: [{host: 10.1.0.1, port: 1}]}}") + "\n---\n" +
				hostileHTTP(name, own(name), list(16, func(i int) string {
					return "{matches: " + list(8, func(j int) string { return path(8*i + j) }) + ", filters: " + list(mirrors, func(int) string {
						return "{type: RequestMirror, requestMirror: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: " + name + "}}}"
					}) + "}"
				}))
		},
		"regexes": func(r *rand.Rand, name string) string {
			patterns := []string{"(a{1,1000}){1,1000}", "(((((((((a*)*)*)*)*)*)*)*)*)b", "(", "[" + strings.Repeat("a-z", 300) + "]", strings.Repeat("(x|y)?", 150), "\\p{L}{1,1000}", ".*.*.*.*.*.*.*.*.*=.*"}
			matches := around(r, 8)
			return documents(4, func(i int) string {
				return hostileHTTP(fmt.Sprint(name, i), own(name), list(16, func(int) string {
					return "{matches: " + list(matches, func(int) string {
						return fmt.Sprintf("{path: {type: RegularExpression, value: '/%s'}, headers: %s}", pick(r, patterns...), list(around(r, 16), func(j int) string {
							return fmt.Sprintf("{name: x-%d, type: RegularExpression, value: '%s'}", j, pick(r, patterns...))
						}))
					}) + "}"
				}))
			})
		},
		"headers": func(r *rand.Rand, name string) string {
			headers, length := around(r, 16), around(r, 4096)
			return documents(3, func(i int) string {
				return hostileHTTP(fmt.Sprint(name, i), own(name), list(16, func(i int) string {
					return "{matches: [" + path(i) + "], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: " + list(headers, func(j int) string {
						return fmt.Sprintf("{name: x-%d, value: %s}", j, strings.Repeat("a", length))
					}) + "}}]}"
				}))
			})
		},
		"certificates": func(r *rand.Rand, name string) string {
			refs := around(r, 64)
			return documents(10, func(i int) string {
				return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s-%d, namespace: attacker}\ntype: kubernetes.io/tls\nstringData: {tls.crt: '%s', tls.key: x}", name, i, strings.Repeat("-----BEGIN CERTIFICATE-----", around(r, 1000)))
			}) + "---\n" + hostileObject(hostileGateway, "ListenerSet", name, "{parentRef: {name: eg, namespace: infra}, listeners: "+list(16, func(j int) string {
				return fmt.Sprintf("{name: l%d, port: %d, protocol: HTTPS, hostname: %s, tls: {certificateRefs: %s}}", j, 9000+j, host(j), list(refs, func(k int) string { return fmt.Sprintf("{name: %s-%d}", name, k) }))
			})+"}")
		},
		"extensions": func(r *rand.Rand, name string) string {
			return documents(around(r, 30), func(i int) string {
				return hostileObject(hostileGroup, "GatewayExtension", fmt.Sprint(name, i), "{extAuth: {grpcService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: b, namespace: innocent}}}}") + "\n---\n" +
					hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), fmt.Sprintf("{targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: x}}], extAuth: {extensionRef: {name: %s%d}}}", name, i))
			})
		},
		"grants": func(r *rand.Rand, name string) string {
			from, to := around(r, 16), around(r, 16)
			return documents(20, func(i int) string {
				return hostileObject("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", fmt.Sprint(name, i), "{from: "+list(from, func(j int) string {
					return fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: %s}", pick(r, "innocent", "infra", fmt.Sprint("n", j)))
				})+", to: "+list(to, func(j int) string {
					return fmt.Sprintf("{group: '', kind: %s, name: n%d}", pick(r, "Service", "Secret"), j)
				})+"}")
			})
		},
		"streams": func(r *rand.Rand, name string) string {
			rules := around(r, 16)
			return documents(20, func(i int) string {
				kind := pick(r, "TCPRoute", "UDPRoute", "TLSRoute", "GRPCRoute")
				return hostileObject(pick(r, hostileGateway, "gateway.networking.k8s.io/v1alpha2"), kind, fmt.Sprint(name, i), "{"+hostileParent+", rules: "+list(rules, func(int) string { return "{backendRefs: [{name: s, namespace: innocent, port: 80}]}" })+"}")
			})
		},
		"cors and more": func(r *rand.Rand, name string) string {
			origins := around(r, 64)
			return documents(10, func(i int) string {
				return hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), "{targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: eg}], cors: {allowOrigins: "+list(origins, func(j int) string { return fmt.Sprintf("'https://o%d.example.com'", j) })+"}}")
			})
		},
	}
}
