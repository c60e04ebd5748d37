package translate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// TestTreesEqualCold edits trees of delegation and inclusion at random and
// compares, after each edit, everything published with a cold rebuild; the rules
// of each host must stand in one strict order. In the end the folder is emptied,
// and nothing may be kept. GATEFOLD_TREE_EDITS sets the number of edits,
// GATEFOLD_TREE_SEED the first seed.
func TestTreesEqualCold(t *testing.T) {
	edits, first := number(t, "GATEFOLD_TREE_EDITS", 1000), number(t, "GATEFOLD_TREE_SEED", 1)
	if testing.Short() {
		edits = 100
	}
	const seeds = 4
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 17))
			w, files := newWorldWith(t, scoped(uint64(seed))), map[string]string{}
			for range 25 {
				editTree(r, files)
			}
			deepest := 0
			for done := 0; done < edits/seeds; {
				for range 1 + r.IntN(3) { // some at once
					editTree(r, files)
					done++
				}
				w.apply(tree(files))
				w.checkCold(t)
				deepest = max(deepest, checkOrder(t, w.view()))
			}
			if deepest < 3 {
				t.Errorf("no chain is longer than %d: the edits prove little", deepest)
			}
			w.remove()
			if cells := w.translator.Cells(); len(cells) > 0 {
				t.Errorf("of an emptied folder, cells are kept: %v", cells)
			}
		})
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// checkOrder wants each rule before the next, by another name, and returns the
// length of the longest chain.
func checkOrder(t *testing.T, view *ir.View) int {
	t.Helper()
	longest := 0
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				names, last := map[string]bool{}, (*ir.Rule)(nil)
				for rule := range host.Rules {
					if names[rule.Name] || last != nil && route.Compare(last, rule) >= 0 {
						t.Fatalf("%s: %s does not stand once, and behind what is before it", host.Domain, rule.Name)
					}
					names[rule.Name], last = true, rule
					longest = max(longest, len(rule.Chain))
				}
			}
		}
	}
	return longest
}

// editTree writes or removes one file of a small world: names repeat, so that
// children are shared, chains close to circles, and references miss.
func editTree(r *rand.Rand, files map[string]string) {
	var name, text string
	switch r.IntN(12) {
	case 0:
		name, text = document("gateway.networking.k8s.io/v1", "Gateway", "a", "eg", "spec:\n  gatewayClassName: gatefold\n  listeners:\n"+
			"  - {name: one, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}\n"+
			pick(r, "", "  - {name: two, port: 81, protocol: HTTP, hostname: '*.example.com', allowedRoutes: {namespaces: {from: All}}}\n"))
	case 1:
		name, text = document("gateway.kgateway.dev/v1alpha1", "Backend", pick(r, "a", "b"), "s1", "spec: {type: Static, static: {hosts: [{host: 10.0.0.1, port: 80}]}}\n")
	case 2:
		name, text = document("v1", "Namespace", "", pick(r, "a", "b"), "  labels: {team: "+pick(r, "x", "y")+"}\n")
	case 3:
		name, text = treePolicy(r)
	default:
		name, text = treeRoute(r)
	}
	if r.IntN(7) == 0 {
		delete(files, name)
		return
	}
	files[name] = text
}

// treePolicy gives a policy for a route at any level, or for one of its rules.
func treePolicy(r *rand.Rand) (string, string) {
	body := fmt.Sprintf("spec:\n  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%d%d%s}]\n", r.IntN(5), r.IntN(2), pick(r, "", ", sectionName: s0"))
	body += "  transformation: {response: {set: [{name: " + pick(r, "x-a", "x-a", "host") + ", value: " + pick(r, "a", "b") + "}]}}\n" + pick(r, "", "  timeouts: {request: 1s}\n")
	return document("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", pick(r, "a", "b"), pick(r, "p1", "p2", "p3"), body)
}

func treeRoute(r *rand.Rand) (string, string) {
	level := r.IntN(5) // the deeper, the longer the paths
	space, name := pick(r, "a", "b"), fmt.Sprintf("r%d%d", level, r.IntN(2))
	meta := randomAge(r) + pick(r, "", "", "  labels: {delegation.kgateway.dev/label: l1}\n")
	annotations := pick(r, "", "", `delegation.kgateway.dev/inherit-parent-matcher: "true", `) + pick(r, "", "kgateway.dev/inherited-policy-priority: "+pick(r, policy.Strategies()...)+", ") +
		pick(r, "", fmt.Sprintf("kgateway.dev/route-weight: \"%d\", ", r.IntN(5)-2))
	if annotations != "" {
		meta += "  annotations: {" + strings.TrimSuffix(annotations, ", ") + "}\n"
	}
	body := meta + "spec:\n"
	switch {
	case level == 0:
		body += "  parentRefs: [{name: eg, namespace: a}" + pick(r, "", ", {kind: HTTPRoute, name: r10}") + "]\n" + pick(r, "", "  hostnames: [a.example.com, b.com]\n")
	case r.IntN(4) == 0:
		body += fmt.Sprintf("  parentRefs: [{kind: HTTPRoute, name: r%d%d, namespace: %s%s}]\n", level-1, r.IntN(2), pick(r, "a", "b"), pick(r, "", ", sectionName: s1"))
	case r.IntN(9) == 0:
		body += "  hostnames: [a.example.com]\n"
	}
	body += "  rules:\n"
	for i := range 1 + r.IntN(3) {
		body += treeRule(r, level, i)
	}
	return document("gateway.networking.k8s.io/v1", "HTTPRoute", space, name, body)
}

func treeRule(r *rand.Rand, level, i int) string {
	path := strings.Repeat("/a", level+r.IntN(2))
	match := pick(r, fmt.Sprintf("path: {value: %s}", path+pick(r, "", "/b")), "path: {value: /}", fmt.Sprintf("path: {value: %s}", path),
		fmt.Sprintf("path: {type: Exact, value: %s/x}", path), fmt.Sprintf("path: {type: RegularExpression, value: '%s/[0-9]+'}", path))
	match += pick(r, "", "", ", method: GET", ", headers: [{name: X-A, value: a}]")
	out := fmt.Sprintf("  - name: s%d\n    matches: [{%s}%s]\n", i, match, pick(r, "", ", {path: {value: "+path+"/c}}"))
	out += pick(r, "", "", "    timeouts: {request: 3s}\n", "    filters: [{type: URLRewrite, urlRewrite: {hostname: x.com}}]\n",
		"    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-B, value: b}]}}]\n", "    filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: s1, port: 80}}}]\n")
	if r.IntN(6) == 0 {
		return out + "    allowedRoutes: {namespaces: " + pick(r, "{from: All}", "{from: Same}", "{from: Selector, selector: {matchLabels: {team: x}}}") + "}\n"
	}
	leaf := "{group: gateway.kgateway.dev, kind: Backend, name: s1, namespace: " + pick(r, "a", "b") + "}"
	below := fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s, namespace: %s}",
		pick(r, "'*'", fmt.Sprintf("r%d%d", min(level+1, 4), r.IntN(2)), fmt.Sprintf("r%d%d", r.IntN(5), r.IntN(2))), pick(r, "a", "b"))
	label := "{group: delegation.kgateway.dev, kind: label, name: l1, namespace: " + pick(r, "a", "all") + "}"
	return out + "    backendRefs: [" + pick(r, leaf, leaf, below, below, label, below+", "+leaf, below+", "+label) + "]\n"
}

// star is a root with rules that name all routes of a namespace, and n of them.
func star(n int) map[string]string {
	files := map[string]string{"root.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: a}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root, namespace: a}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /a}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: b}]
`}
	for i := range n {
		files[fmt.Sprintf("leaf%d.yaml", i)] = leaf(fmt.Sprintf("leaf%d", i), fmt.Sprintf("/a/%d", i))
	}
	return files
}

func leaf(name, path string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: b}
spec:
  rules:
  - matches: [{path: {value: %s}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]
`, name, path)
}

// TestALeafAmongTenThousand edits one of many routes that a parent names by *:
// what runs is the leaf's and its table's, and nothing of its siblings, its
// parent or their links.
func TestALeafAmongTenThousand(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	w, files := newWorld(t), star(n)
	w.apply(tree(files))
	if got := w.view().Gateways[0].Ports[0].Hosts[0].Len; got != n {
		t.Fatalf("%d rules of %d leaves", got, n)
	}
	files["leaf7.yaml"] = leaf("leaf7", "/a/seven")
	w.apply(tree(files))
	for _, ran := range w.last.Rebuilt {
		name, _, _ := strings.Cut(ran, " ")
		if !strings.Contains(ran, "b/leaf7") && !slices.Contains([]string{"host", "routeconfig"}, name) {
			t.Errorf("ran for the edit of b/leaf7: %s", ran)
		}
	}
	if ran := len(w.last.Rebuilt); ran == 0 || ran > 15 {
		t.Errorf("%d rules ran: %q", ran, w.last.Rebuilt)
	}

	// another rule of the parent is nothing to those below the first
	files["root.yaml"] += "  - matches: [{path: {value: /other}}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]\n"
	w.apply(tree(files))
	for _, ran := range w.last.Rebuilt {
		if strings.Contains(ran, "leaf") {
			t.Errorf("ran for a rule beside: %s", ran)
		}
	}
}

// TestDepthIsBounded builds a chain that is one route too long.
func TestDepthIsBounded(t *testing.T) {
	const most = 32
	chain := func(n int) map[string]string {
		files := star(0)
		files["root.yaml"] = strings.Replace(files["root.yaml"], `"*"`, "c2", 1)
		for i := 2; i < n; i++ {
			files[fmt.Sprintf("c%d.yaml", i)] = strings.Replace(leaf(fmt.Sprintf("c%d", i), "/a"),
				"filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]",
				fmt.Sprintf("backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: c%d}]", i+1), 1)
		}
		files[fmt.Sprintf("c%d.yaml", n)] = leaf(fmt.Sprintf("c%d", n), "/a")
		return files
	}
	for n, redirects := range map[int]bool{most: true, most + 1: false} {
		w := newWorld(t)
		w.apply(tree(chain(n)))
		w.checkCold(t)
		var only *ir.Rule
		for rule := range w.view().Gateways[0].Ports[0].Hosts[0].Rules {
			only = rule
		}
		if only == nil || (only.Action.Redirect != nil) != redirects {
			t.Errorf("%d routes above each other: %+v", n, only)
		}
	}
}

// TestCompareTellsChainsApart compares the rules of one leaf that two routes
// between it and the root have in common.
func TestCompareTellsChainsApart(t *testing.T) {
	key := func(name string) store.Key { return store.Key{Kind: "HTTPRoute", Namespace: "n", Name: name} }
	rule := func(middle string) *ir.Rule {
		return &ir.Rule{Name: middle, Root: ir.Origin{Key: key("root")}, Source: ir.Origin{Key: key("leaf")},
			Chain: []ir.Hop{{Route: key("root")}, {Route: key(middle)}}, Position: []int{0, 0, 0, 0, 0, 0}}
	}
	left, right := rule("left"), rule("right")
	if route.Compare(left, right) != -1 || route.Compare(right, left) != 1 || route.Compare(left, left) != 0 {
		t.Error("two ways to one rule compare as the same rule")
	}
}
