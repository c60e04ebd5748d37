package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
)

// policyBombs write n policies and n targets of the attacker that multiply, by what is targeted.
func policyBombs() map[string]func(n int) string {
	selector := func(kind, labels string) string {
		return fmt.Sprintf("targetSelectors: [{group: %s, kind: %s%s}]", map[bool]string{true: "gateway.kgateway.dev", false: "gateway.networking.k8s.io"}[kind == "Backend"], kind, labels)
	}
	traffic := func(targets, set string) func(i int) string {
		return func(i int) string {
			return hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint("p", i), "{"+targets+", "+set+"}")
		}
	}
	route := func(i int) string {
		return hostileHTTP(fmt.Sprint("t", i), fmt.Sprintf("[t%d.attacker.example.com]", i), "[{name: one}, {name: two, matches: [{path: {value: /two}}]}]")
	}
	backend := func(i int) string {
		return hostileObject(hostileGroup, "Backend", fmt.Sprint("t", i), "{type: Static, static: {hosts: [{host: 10.1.0.1, port: 1}]}}") + "\n---\n" +
			hostileHTTP(fmt.Sprint("t", i), fmt.Sprintf("[t%d.attacker.example.com]", i), fmt.Sprintf("[{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: t%d}]}]", i))
	}
	both := func(policy, target func(i int) string) func(n int) string {
		return func(n int) string { return documents(n, policy) + documents(n, target) }
	}
	const labels, buffer = ", matchLabels: {app: x}", "buffer: {maxRequestSize: 1Ki}"
	return map[string]func(n int) string{
		"HTTPRoutes":          both(traffic(selector("HTTPRoute", labels), buffer), route),
		"every HTTPRoute":     both(traffic(selector("HTTPRoute", ", matchLabels: {}"), buffer), route),
		"rules of HTTPRoutes": both(traffic(selector("HTTPRoute", labels+", sectionName: one"), buffer), route),
		"invalid policies":    both(traffic(selector("HTTPRoute", ""), "zz: 1"), route),
		"named HTTPRoutes": both(traffic("targetRefs: "+list(16, func(i int) string {
			return fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: t%d}", i)
		}), buffer), route),
		"GRPCRoutes": both(traffic(selector("GRPCRoute", labels), buffer), func(i int) string {
			return hostileObject(hostileGateway, "GRPCRoute", fmt.Sprint("t", i), fmt.Sprintf("{%s, hostnames: [t%d.attacker.example.com], rules: [{matches: [{method: {service: a.B}}]}]}", hostileParent, i))
		}),
		"ListenerSets": both(traffic(selector("ListenerSet", labels), buffer), func(i int) string {
			return hostileObject(hostileGateway, "ListenerSet", fmt.Sprint("t", i), fmt.Sprintf("{parentRef: {name: eg, namespace: infra}, listeners: [{name: l, port: 9000, protocol: HTTP, hostname: t%d.attacker.example.com}]}", i))
		}),
		"Backends": both(func(i int) string {
			return hostileObject(hostileGroup, "BackendConfigPolicy", fmt.Sprint("p", i), "{"+selector("Backend", labels)+", connectTimeout: 1s}")
		}, backend),
		"Backends with TLS": both(func(i int) string {
			return hostileObject(hostileGateway, "BackendTLSPolicy", fmt.Sprint("p", i), "{targetRefs: "+list(16, func(i int) string {
				return fmt.Sprintf("{group: gateway.kgateway.dev, kind: Backend, name: t%d}", i)
			})+", validation: {hostname: a.example.com, wellKnownCACertificates: System}}")
		}, backend),
	}
}

// TestPolicyBombs: policies and their targets multiply, and cost what is written: twice as many
// of both take twice as many cells. All targets are closed with one problem in the attacker's
// files, and the innocent team serves as it did.
func TestPolicyBombs(t *testing.T) {
	for name, bomb := range policyBombs() {
		t.Run(name, func(t *testing.T) {
			w, files := newFenced(t, translate.Options{}), innocentTeam("/a")
			w.apply(tree(files))
			want := innocentOutput(w)
			cells := func(n int) (total int) {
				files["attacker/bomb.yaml"] = bomb(n)
				told := 0
				for _, p := range w.apply(tree(files)) {
					if p.Code == "TooManyPolicies" {
						told++
					}
					if !strings.HasPrefix(p.File, "attacker/") {
						t.Errorf("a problem of %s: %s", p.File, p.Message)
					}
				}
				if told != 1 && name != "ListenerSets" { // a Gateway takes 64 of them
					t.Errorf("%d of each: %d problems TooManyPolicies", n, told)
				}
				if got := innocentOutput(w); got != want {
					t.Fatalf("the innocent team's output changes at %s", firstDifference(got, want))
				}
				for _, of := range w.translator.Cells() {
					total += of
				}
				return total
			}
			few, many := cells(150), cells(300)
			if many > 2*few+few/10 {
				t.Errorf("%d cells for 150 of each, %d for 300", few, many)
			}
			w.checkCold(t)
			if name == "HTTPRoutes" { // over the number of selectors that are looked at, and below it again
				cells(1100)
				cells(150)
				w.checkCold(t)
			}

			files["attacker/bomb.yaml"] = bomb(64) // the limit itself
			if name == "invalid policies" {
				return
			}
			if problems := problemsText(w.apply(tree(files))); strings.Contains(problems, "TooManyPolicies") {
				t.Errorf("64 of each: %s", problems)
			}
			w.checkCold(t)
		})
	}
}
