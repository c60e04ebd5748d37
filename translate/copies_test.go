package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
)

// copiesLimit is the limit of the tests here, low so that what is over it is small.
const copiesLimit = 3000

// attackerHosts lists hostnames of the attacker.
func attackerHosts(name string, n int) string {
	return list(n, func(i int) string { return fmt.Sprintf("%s-%d.attacker.example.com", name, i) })
}

// attackerRules lists rules of prefixes with what follows their matches.
func attackerRules(rules, matches int, match func(i int) string, rest string) string {
	return list(rules, func(i int) string {
		return "{matches: " + list(matches, func(j int) string { return match(i*matches + j) }) + rest + "}"
	})
}

// TestEveryMultiplicationIsCounted: whatever multiplies (hosts, matches, policies, filters,
// backends, regular expressions, delegation) is counted before it is made, by what it costs. One
// that is over the limit is a problem in the attacker's file, and the innocent team's output and
// its edits are as without it.
func TestEveryMultiplicationIsCounted(t *testing.T) {
	prefix := func(i int) string { return fmt.Sprintf("{path: {value: /p%d}}", i) }
	long := func(n int) string {
		return list(n, func(i int) string { return fmt.Sprintf("{name: x-%d, value: %s}", i, strings.Repeat("v", 400)) })
	}
	filter := func(kind, field string) string {
		return ", filters: [{type: " + kind + ", " + field + ": {set: " + long(16) + "}}]"
	}
	roots := func(n, hosts int, rules string) string {
		return documents(n, func(i int) string {
			name := fmt.Sprint("r", i)
			return hostileHTTP(name, attackerHosts(name, hosts), rules)
		})
	}
	policy := func(name, target, fields string) string {
		return "---\n" + hostileObject(hostileGroup, "TrafficPolicy", name, "{"+target+fields+"}") + "\n"
	}
	routesOf := "targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: x}}], "
	extension := ", filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: p}}]"
	regex := func(pattern string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf("{path: {type: RegularExpression, value: '/%d%s'}}", i, pattern)
		}
	}
	matching := func(field, kind string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf("{path: {value: /p%d}, %s: %s}", i, field, list(16, func(j int) string {
				return fmt.Sprintf("{name: x-%d, type: %s, value: '%sa'}", j, kind, strings.Repeat("v", 100))
			}))
		}
	}
	below := func(rules, more string) string {
		return hostileHTTP("root", attackerHosts("root", 16), "[{matches: [{path: {value: /}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: '*'}]}]") + "\n" +
			documents(4, func(i int) string {
				return hostileObject(hostileGateway, "HTTPRoute", fmt.Sprint("child", i), "{rules: "+rules+"}")
			}) + more
	}
	// own is a Gateway of the attacker with so many listeners, and routes of four hosts each.
	own := func(listeners, routes int) string {
		return hostileObject(hostileGateway, "Gateway", "own", "{gatewayClassName: gatefold, listeners: "+list(listeners, func(i int) string {
			return fmt.Sprintf("{name: l%d, port: %d, protocol: HTTP, hostname: '*.attacker.example.com'}", i, 9000+i)
		})+"}") + "\n" + documents(routes, func(i int) string {
			name := fmt.Sprint("r", i)
			return hostileObject(hostileGateway, "HTTPRoute", name, "{parentRefs: [{name: own}], hostnames: "+attackerHosts(name, 4)+", rules: [{"+hostileRedirect+"}]}")
		})
	}
	// sets are ListenerSets of the shared Gateway, and routes of four hosts each.
	sets := func(n, listeners, routes int) string {
		return documents(n, func(i int) string {
			return hostileObject(hostileGateway, "ListenerSet", fmt.Sprint("s", i), "{parentRef: {name: eg, namespace: infra}, listeners: "+list(listeners, func(j int) string {
				return fmt.Sprintf("{name: l%d, port: 9000, protocol: HTTP, hostname: '*.s%d-%d.attacker.example.com'}", j, i, j)
			})+"}") + "\n" + documents(routes, func(j int) string {
				return hostileObject(hostileGateway, "HTTPRoute", fmt.Sprintf("r%d-%d", i, j), fmt.Sprintf("{parentRefs: [{kind: ListenerSet, name: s%d}], hostnames: %s, rules: [{%s}]}",
					i, list(4, func(k int) string { return fmt.Sprintf("h%d-%d.s%d-%d.attacker.example.com", j, k, i, j%listeners) }), hostileRedirect))
			})
		})
	}
	on := func(kind string) string {
		return "targetSelectors: [{group: gateway.networking.k8s.io, kind: " + kind + ", matchLabels: {app: x}}], "
	}
	headers := "headerModifiers: {request: {set: " + long(16) + "}, response: {add: " + long(16) + "}}"
	names := func(n int) string {
		return list(n, func(i int) string { return fmt.Sprintf("x-%d-%s", i, strings.Repeat("v", 200)) })
	}
	service := strings.ReplaceAll(hostileObject(hostileGroup, "Backend", "b", "{type: Static, static: {hosts: [{host: 10.1.0.1, port: 1}]}}")+"\n---\n"+
		hostileObject(hostileGroup, "GatewayExtension", "e", "{extAuth: {headersToForward: "+names(64)+", grpcService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: b}}}}"), "namespace: attacker", "namespace: infra")
	service = strings.Replace(service, "kind: GatewayExtension\nmetadata: {", `kind: GatewayExtension
metadata: {annotations: {gatefold.io/used-by: "*"}, `, 1)
	for name, text := range map[string]string{
		"a policy of a Gateway":                   own(1, 500) + policy("p", on("Gateway"), headers),
		"a policy of a Gateway with listeners":    own(64, 8) + policy("p", on("Gateway"), headers),
		"a policy of a listener":                  own(2, 500) + policy("p", "targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: own, sectionName: l1}], ", headers),
		"several policies of a Gateway":           own(1, 500) + policy("p", on("Gateway"), headers) + policy("q", on("Gateway"), "cors: {allowOrigins: "+list(64, func(i int) string { return fmt.Sprintf("'https://*.o%d.example.com'", i) })+"}"),
		"a policy of ListenerSets":                sets(10, 1, 50) + policy("p", on("ListenerSet"), "transformation: {request: {set: "+long(16)+"}}"),
		"a policy of ListenerSets with listeners": sets(10, 50, 0) + policy("p", on("ListenerSet"), headers),
		"an extension of a Gateway":               own(1, 500) + policy("p", on("Gateway"), "extAuth: {extensionRef: {name: e, namespace: infra}}"),
		"a hash of a Gateway": own(1, 500) + policy("p", on("Gateway"), "hashPolicies: "+list(16, func(i int) string {
			return fmt.Sprintf("{cookie: {name: c%d-%s, path: '/%s', ttl: 1s}}", i, strings.Repeat("v", 200), strings.Repeat("v", 1000))
		})),
		"an extension of routes":          roots(100, 2, attackerRules(1, 8, prefix, "")) + policy("p", routesOf, "extAuth: {extensionRef: {name: e, namespace: infra}}"),
		"prefixes on 16 hosts":            roots(5, 16, attackerRules(16, 8, prefix, "")),
		"regular expressions on 16 hosts": roots(5, 16, attackerRules(4, 8, regex("/(a|b)*[0-9]+.*"), "")),
		"large regular expressions":       roots(1, 2, attackerRules(4, 8, regex("((a{0,30}){0,30}b)*[\\p{L}]{1,50}"), "")),
		"headers to match":                roots(2, 16, attackerRules(4, 8, matching("headers", "Exact"), "")),
		"query parameters to match":       roots(1, 16, attackerRules(4, 8, matching("queryParams", "RegularExpression"), "")),
		"query parameters of any value": roots(1, 16, attackerRules(4, 8, func(i int) string {
			return fmt.Sprintf("{path: {value: /p%d}, queryParams: %s}", i, list(16, func(j int) string { return fmt.Sprintf("{name: x-%d, type: RegularExpression, value: .+}", j) }))
		}, "")),
		"a policy by reference":           roots(10, 1, attackerRules(16, 8, prefix, extension)) + policy("p", "", "headerModifiers: {request: {set: "+long(16)+"}}"),
		"a policy by reference, on hosts": roots(2, 16, attackerRules(4, 8, prefix, extension)) + policy("p", "", "headerModifiers: {response: {add: "+long(16)+"}}"),
		"a policy by selector":            roots(10, 1, attackerRules(16, 8, prefix, "")) + policy("p", routesOf, "headerModifiers: {request: {set: "+long(16)+"}}"),
		"transformations":                 roots(10, 1, attackerRules(16, 8, prefix, "")) + policy("p", routesOf, "transformation: {request: {set: "+long(16)+"}}"),
		"origins of CORS":                 roots(5, 1, attackerRules(16, 8, prefix, "")) + policy("p", routesOf, "cors: {allowOrigins: "+list(64, func(i int) string { return fmt.Sprintf("'https://*.o%d.example.com'", i) })+"}"),
		"preflight requests": roots(5, 4, attackerRules(16, 8, func(i int) string { return fmt.Sprintf("{path: {value: /p%d}, method: POST}", i) },
			", filters: [{type: CORS, cors: {allowOrigins: "+list(16, func(i int) string { return fmt.Sprintf("'https://o%d.example.com'", i) })+"}}]")),
		"preflight requests for headers": roots(2, 4, attackerRules(16, 8, matching("headers", "Exact"), "")) + policy("p", routesOf, "cors: {allowOrigins: ['*']}"),
		"preflight requests on hosts of CORS": own(1, 50) + policy("p", on("Gateway"), "cors: {allowOrigins: ['*']}") + documents(5, func(i int) string {
			name := fmt.Sprint("m", i)
			return hostileObject(hostileGateway, "HTTPRoute", name, "{parentRefs: [{name: own}], hostnames: "+attackerHosts(name, 16)+", rules: "+attackerRules(16, 8, matching("headers", "Exact"), "")+"}")
		}),
		"request headers of a rule":  roots(1, 16, attackerRules(2, 64, prefix, filter("RequestHeaderModifier", "requestHeaderModifier"))),
		"response headers of a rule": roots(5, 1, attackerRules(2, 64, prefix, filter("ResponseHeaderModifier", "responseHeaderModifier"))),
		"external authorizations of a rule": roots(4, 1, attackerRules(2, 64, prefix, ", filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {group: gateway.kgateway.dev, kind: Backend, name: b}, http: {allowedHeaders: "+
			names(64)+", allowedResponseHeaders: "+names(64)+"}}}]")) + "\n---\n" + hostileObject(hostileGroup, "Backend", "b", "{type: Static, static: {hosts: [{host: 10.1.0.1, port: 1}]}}"),
		"backends with filters": roots(1, 4, attackerRules(2, 64, prefix, ", backendRefs: "+list(16, func(i int) string {
			return fmt.Sprintf("{name: s%d, port: 80%s}", i, strings.Replace(filter("RequestHeaderModifier", "requestHeaderModifier"), long(16), long(1), 1))
		}))),
		"routes below a root":              below(attackerRules(16, 8, prefix, ""), ""),
		"regular expressions below a root": below(attackerRules(4, 8, regex("/(a|b)*"), ""), ""),
		"policies below a root":            below(attackerRules(16, 8, prefix, ""), policy("p", routesOf, "headerModifiers: {request: {set: "+long(16)+"}}")),
	} {
		t.Run(name, func(t *testing.T) {
			w, files := newFenced(t, translate.Options{MaxCopies: copiesLimit}), innocentTeam("/a")
			files["platform/service.yaml"] = service
			w.apply(tree(files))
			want := innocentOutput(w)
			files["attacker/a.yaml"] = text
			cut := 0
			for _, p := range w.apply(tree(files)) {
				if !strings.HasPrefix(p.File, "attacker/") {
					t.Errorf("a problem of %s:%d %s: %s", p.File, p.Line, p.Code, p.Message)
				}
				if p.Code == "TooManyCopies" {
					cut++
				} else if p.Code != "BackendNotFound" && p.Code != "NoBackends" {
					t.Logf("%s %s: %s", p.Code, p.Field, p.Message)
				}
			}
			if cut == 0 {
				t.Error("nothing is cut")
			}
			if got := innocentOutput(w); got != want {
				t.Errorf("the innocent team's output changes at %s", firstDifference(got, want))
			}
			published := 0
			for _, update := range w.resources {
				published += len(update.Resource.Body)
			}
			t.Logf("%d bytes written, %d published, %d routes cut", len(text), published, cut)
			if most := 1<<20 + 3*512*copiesLimit; published > most {
				t.Errorf("%d bytes are published, more than %d", published, most)
			}
			w.checkCold(t)
			delete(files, "attacker/a.yaml")
			if problems := w.apply(tree(files)); len(problems) > 0 || innocentOutput(w) != want {
				t.Errorf("after the attack: %s", problemsText(problems))
			}
		})
	}
}

// TestClosedHostsHaveAPartOfTheirOwn: a namespace uses its part up, and the hosts of a route that does not
// fit answer 500 all the same. A wider host does not get its requests.
func TestClosedHostsHaveAPartOfTheirOwn(t *testing.T) {
	w := newWorldWith(t, translate.Options{MaxCopies: 12})
	files := spreading(0, 1, 0)
	files["a.yaml"] = spreadRoute("a", 16, 1, 1) // 12 beyond what is free
	files["b.yaml"] = spreadRoute("b", 16, 1, 2) // 24; 8 are for its hosts
	told := 0
	for _, p := range w.apply(tree(files)) {
		if told++; p.File != "b.yaml" || p.Code != "TooManyCopies" {
			t.Errorf("%s %s: %s", p.File, p.Code, p.Message)
		}
	}
	if told != 1 {
		t.Errorf("%d problems", told)
	}
	closed := 0
	for _, host := range w.view().Gateways[0].Ports[0].Hosts {
		for rule := range host.Rules {
			if strings.HasPrefix(host.Domain, "b-") && rule.Action.Respond != nil && rule.Action.Respond.Status == 500 {
				closed++
			}
		}
	}
	if closed != 16 {
		t.Errorf("%d hosts of the route that is cut answer 500", closed)
	}
	w.checkCold(t)
}

// TestPlacesAreCounted: hostnames of routes times listeners are counted before a route attaches, so that
// few routes on many listeners do not fill the memory. Twice as many routes are rejected, and take few cells.
func TestPlacesAreCounted(t *testing.T) {
	w, files := newFenced(t, translate.Options{MaxCopies: copiesLimit}), innocentTeam("/a")
	w.apply(tree(files))
	want := innocentOutput(w)
	listeners := list(64, func(i int) string {
		return fmt.Sprintf("{name: l%d, port: %d, protocol: HTTP, hostname: '*.attacker.example.com'}", i, 9000+i)
	})
	served := func(routes int) (serving, cells int) {
		files["attacker/a.yaml"] = hostileObject(hostileGateway, "Gateway", "own", "{gatewayClassName: gatefold, listeners: "+listeners+"}") + "\n" + documents(routes, func(i int) string {
			name := fmt.Sprint("r", i)
			return hostileObject(hostileGateway, "HTTPRoute", name, "{parentRefs: [{name: own}], hostnames: "+attackerHosts(name, 16)+", rules: [{"+hostileRedirect+"}]}")
		})
		cut := 0
		for _, p := range w.apply(tree(files)) {
			if cut++; p.File != "attacker/a.yaml" || p.Code != "TooManyCopies" {
				t.Errorf("%s %s: %s", p.File, p.Code, p.Message)
			}
		}
		for _, n := range w.translator.Cells() {
			cells += n
		}
		if got := innocentOutput(w); got != want {
			t.Fatalf("the innocent team's output changes at %s", firstDifference(got, want))
		}
		return routes - cut, cells
	}
	fewServed, few := served(20)
	manyServed, many := served(60)
	if fewServed == 0 || manyServed != fewServed {
		t.Errorf("%d routes of 20 are served, %d of 60", fewServed, manyServed)
	}
	if most := few + 40*40; many > most {
		t.Errorf("%d cells for 20 routes, %d for 60", few, many)
	}
	w.checkCold(t)
	served(1)
	w.checkCold(t)
}

// TestPoliciesOfClusterPathsAreNotCounted: a policy for a shared Gateway is the operator's, however
// many hosts teams have on it.
func TestPoliciesOfClusterPathsAreNotCounted(t *testing.T) {
	w, files := newFenced(t, translate.Options{MaxCopies: 10}), innocentTeam("/a")
	files["platform/policy.yaml"] = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: p, namespace: infra}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: eg}]
  cors: {allowOrigins: ` + list(64, func(i int) string { return fmt.Sprintf("'https://*.o%d.example.com'", i) }) + `}
  hashPolicies: ` + list(16, func(i int) string { return fmt.Sprintf("{header: {name: x-%d-%s}}", i, strings.Repeat("v", 200)) }) + "\n"
	for _, p := range w.apply(tree(files)) {
		if p.Code != "DeprecatedField" { // hashPolicies
			t.Errorf("%s: %s", p.Code, p.Message)
		}
	}
	files["innocent/policy.yaml"] = strings.Replace(files["platform/policy.yaml"], "name: p, namespace: infra", "name: own, namespace: innocent", 1)
	files["innocent/gateway.yaml"] = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: innocent}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8081, protocol: HTTP, hostname: innocent.example.com}]}
`
	files["platform/infra.yaml"] = strings.Replace(files["platform/infra.yaml"], `gateway-ports: "8080"`, `gateway-ports: "8081"`, 1)
	told := 0
	for _, p := range w.apply(tree(files)) {
		if p.Code == "TooManyCopies" && p.File == "innocent/policy.yaml" {
			told++
		}
	}
	if told != 1 { // of the hash, which closes at once
		t.Errorf("the policy of a team for its own Gateway is %d problems", told)
	}
}

// TestWhatIsWrittenIsFree: what people write has no limit, and a few copies of each match are
// theirs, too.
func TestWhatIsWrittenIsFree(t *testing.T) {
	for name, folder := range map[string]struct {
		routes, listeners, hosts, rules, matches, limit int
	}{
		"2,000 routes of one host":               {2000, 1, 1, 1, 1, 1},
		"2,000 matches of one host":              {20, 1, 1, 16, 7, 1},
		"500 matches on four hosts":              {5, 1, 4, 16, 7, 1},
		"200 matches on two hosts and two ports": {2, 2, 2, 16, 7, 1},
		"300 matches on 96 hosts":                {3, 6, 16, 14, 7, 50_000},
		"a few matches on 1,024 hosts":           {1, 64, 16, 1, 7, 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			w, files := newWorldWith(t, translate.Options{MaxCopies: folder.limit}), spreading(0, folder.listeners, 0)
			delete(files, "sound.yaml")
			for i := range folder.routes {
				files[fmt.Sprintf("r%d.yaml", i)] = spreadRoute(fmt.Sprint("r", i), folder.hosts, folder.rules, folder.matches)
			}
			if problems := w.apply(tree(files)); len(problems) > 0 {
				t.Errorf("%s: %s", problemsText(problems[:1]), problems[0].Message)
			}
			if all, _ := w.copies(); all != folder.routes*folder.listeners*folder.hosts*folder.rules*folder.matches {
				t.Errorf("%d copies are served", all)
			}
		})
	}
}

// TestNamespacesSharePartsOfCopies: a namespace that asks for less than its part has all of it,
// whatever others ask for, and whatever the names are.
func TestNamespacesSharePartsOfCopies(t *testing.T) {
	w := newWorldWith(t, translate.Options{MaxCopies: 10_000})
	files := spreading(0, 1, 0)
	files["gateway.yaml"] = strings.Replace(files["gateway.yaml"], "protocol: HTTP", "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}", 1)
	of := func(namespace, name string, hosts int) {
		text := spreadRoute(namespace+name, hosts, 16, 7)
		text = strings.Replace(text, "metadata: {name: "+namespace+name, "metadata: {namespace: "+namespace+", name: "+name, 1)
		files[namespace+name+".yaml"] = strings.Replace(text, "{name: eg}", "{name: eg, namespace: default}", 1)
	}
	for i := range 12 {
		of("aaa", fmt.Sprint("r", i), 16) // 112 × (16 - 4) each
	}
	of("zzz", "r0", 16)
	of("zzz", "r1", 16)
	cut := 0
	for _, p := range w.apply(tree(files)) {
		if cut++; p.Object.Namespace != "aaa" || p.Code != "TooManyCopies" {
			t.Errorf("%s: %s", p.Object, p.Message)
		}
	}
	if cut != 7 { // (10,000 - 2 × 1,344) / 1,344 = 5 of 12 are served
		t.Errorf("%d routes are cut", cut)
	}
	w.checkCold(t)
}
