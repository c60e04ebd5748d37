package translate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// scoped returns the options of the n-th random folder: weights off, and on in
// either scope.
func scoped(n uint64) translate.Options {
	return [...]translate.Options{
		{WeightScope: translate.Siblings},
		{Weighted: true, WeightScope: translate.Siblings},
		{},
		{Weighted: true},
	}[n%4]
}

// TestCompareIsAStrictTotalOrder checks the laws of an order on random rules, in
// blocks and outside: irreflexive but for the rule itself, antisymmetric,
// transitive, total.
func TestCompareIsAStrictTotalOrder(t *testing.T) {
	rules := randomRules(rand.New(rand.NewPCG(3, 3)), 120)
	for _, a := range rules {
		for _, b := range rules {
			ab := route.Compare(a, b)
			if (ab == 0) != (a == b) {
				t.Fatalf("Compare = %d for\n%+v\n%+v", ab, a, b)
			}
			if ab != -route.Compare(b, a) {
				t.Fatalf("not antisymmetric:\n%+v\n%+v", a, b)
			}
			for _, c := range rules {
				if ab < 0 && route.Compare(b, c) < 0 && route.Compare(a, c) >= 0 {
					t.Fatalf("not transitive:\n%+v\n%+v\n%+v", a, b, c)
				}
			}
		}
	}
}

// TestBlocksAreOrderedFromOutside holds Compare against sorting what stands
// outside of all blocks, and then what stands in each of them, as if there were no
// others.
func TestBlocksAreOrderedFromOutside(t *testing.T) {
	for seed := range uint64(50) {
		rules := randomRules(rand.New(rand.NewPCG(seed, 4)), 120)
		want := nested(rules, 0)
		slices.SortFunc(rules, route.Compare)
		if !slices.Equal(rules, want) {
			t.Fatalf("seed %d: the order is not that of blocks in blocks", seed)
		}
	}
}

// TestARuleIsNotItsBlock: a match that delegates from now on may meet its old
// form in a table that is being changed.
func TestARuleIsNotItsBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	old, below := randomRule(r, 1), randomRule(r, 2)
	old.Guard, below.Blocks = false, []*ir.Rule{old}
	if route.Compare(old, below) != -1 || route.Compare(below, old) != 1 {
		t.Error("a rule and what stands in its place compare as the same rule")
	}
}

// nested sorts rules that share their blocks down to depth.
func nested(rules []*ir.Rule, depth int) []*ir.Rule {
	type item struct {
		as    ir.Rule // without blocks
		rules []*ir.Rule
	}
	items := map[string]*item{}
	for _, rule := range rules {
		as := rule
		if len(rule.Blocks) > depth {
			as = rule.Blocks[depth]
		}
		if items[as.Name] == nil {
			items[as.Name] = &item{as: *as}
			items[as.Name].as.Blocks = nil
		}
		items[as.Name].rules = append(items[as.Name].rules, rule)
	}
	var out []*ir.Rule
	for _, it := range slices.SortedFunc(maps.Values(items), func(a, b *item) int {
		switch {
		case depth > 0 && a.as.Guard && !b.as.Guard:
			return 1
		case depth > 0 && b.as.Guard && !a.as.Guard:
			return -1
		}
		return route.Compare(&a.as, &b.as)
	}) {
		if len(it.rules[0].Blocks) > depth {
			it.rules = nested(it.rules, depth+1)
		}
		out = append(out, it.rules...)
	}
	return out
}

// randomRules returns n rules, of which most stand in blocks.
func randomRules(r *rand.Rand, n int) []*ir.Rule {
	ways := [][]*ir.Rule{nil}
	for i := range 12 {
		block := randomRule(r, n+i)
		block.Guard = false
		ways = append(ways, append(slices.Clip(pick(r, ways...)), block))
	}
	rules := make([]*ir.Rule, n)
	for i := range rules {
		rules[i] = randomRule(r, i)
		for _, block := range pick(r, ways...) {
			if r.IntN(2) == 0 { // as another node has it
				copied := *block
				block = &copied
			}
			rules[i].Blocks = append(rules[i].Blocks, block)
		}
	}
	return rules
}

// randomRule returns a rule from a small range, so that ties are many; the
// position makes it the only one of its kind.
func randomRule(r *rand.Rand, i int) *ir.Rule {
	origin := func() *ir.Origin {
		o := &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: pick(r, "a", "b"), Name: pick(r, "x", "y")}}
		if r.IntN(2) == 0 {
			o.Created = time.Unix(int64(r.IntN(2)), 0).UTC()
		}
		return o
	}
	rule := &ir.Rule{
		Name:   fmt.Sprint(i),
		Match:  ir.Match{Path: ir.Path{Kind: ir.PathKind(r.IntN(3)), Value: pick(r, "/", "/a", "/b", "/a/b")}, Method: pick(r, "", "GET")},
		Weight: int32(r.IntN(2)), Guard: r.IntN(4) == 0, Root: origin(), Source: origin(), Position: []int{r.IntN(2), i},
	}
	if r.IntN(2) == 0 {
		rule.Match.Headers = []ir.ValueMatch{{Name: "h"}}
	}
	if r.IntN(2) == 0 {
		rule.Wider = pick(r, "*", "*.com", "*.example.com")
	}
	if r.IntN(3) == 0 {
		rule.Match.Hosts = []string{"a.example.com"}
	}
	return rule
}

// TestAWeightStaysInItsBlock changes weights of children in random trees. Of
// what stands beside each other under a host nothing moves: not the roots' own
// rules, and not the matches from which they hand requests down.
func TestAWeightStaysInItsBlock(t *testing.T) {
	w, moved := newWorldWith(t, translate.Options{Weighted: true, WeightScope: translate.Siblings}), 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 23))
		files := family(r)
		w.apply(tree(files))
		before, tops := order(w.view(), ruleName), order(w.view(), rootMatch)
		for _, names := range tops {
			top := slices.Compact(slices.Clone(names))
			if distinct := slices.Compact(slices.Sorted(slices.Values(names))); len(top) != len(distinct) {
				t.Fatalf("seed %d: a block is in pieces: %q", seed, top)
			}
		}
		for range 3 {
			reweigh(r, files)
			w.apply(tree(files))
			if !maps.EqualFunc(before, order(w.view(), ruleName), slices.Equal) {
				moved++
			}
			if got := order(w.view(), rootMatch); !maps.EqualFunc(tops, got, slices.Equal) {
				t.Fatalf("seed %d: weights of children move what their roots have\n%q\n%q", seed, tops, got)
			}
		}
	}
	if moved < 30 {
		t.Errorf("weights moved something %d times: the test shows little", moved)
	}
}

// family returns a tree of three levels, a namespace each, of which every route has
// a weight and may hand requests to the next level.
func family(r *rand.Rand) map[string]string {
	gateway, _, _ := strings.Cut(star(0)["root.yaml"], "---")
	files := map[string]string{"gateway.yaml": gateway}
	next := map[string]string{"a": "b", "b": "c"}
	for i, level := range []string{"a", "a", "b", "b", "b", "c", "c", "c"} {
		body := fmt.Sprintf("%s  annotations: {kgateway.dev/route-weight: \"%d\"}\nspec:\n", randomAge(r), r.IntN(3))
		if level == "a" {
			body += "  parentRefs: [{name: eg}]\n"
		}
		body += "  rules:\n"
		for range 3 {
			body += "  - matches: [{path: {" + pick(r, "value: /a", "value: /a/b", "value: /a/b/c", "type: Exact, value: /a/b", "type: RegularExpression, value: '/a/b.*'") + "}}]\n"
			if below := next[level]; below != "" && r.IntN(3) > 0 {
				body += "    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: '*', namespace: " + below + "}]\n"
			} else {
				body += "    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]\n"
			}
		}
		name, text := document("gateway.networking.k8s.io/v1", "HTTPRoute", level, fmt.Sprint("r", i), body)
		files[name] = text
	}
	return files
}

// weightOf finds the weight in a route of a family.
var weightOf = regexp.MustCompile(`kgateway.dev/route-weight: "[^"]*"`)

// reweigh gives all routes of a family other weights, but for the roots.
func reweigh(r *rand.Rand, files map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "httproute-a-") {
			files[name] = weightOf.ReplaceAllString(files[name], fmt.Sprintf(`kgateway.dev/route-weight: "%d"`, r.IntN(9)-4))
		}
	}
}

// order lists what name says of the rules of each host.
func order(view *ir.View, name func(*ir.Rule) string) map[string][]string {
	out := map[string][]string{}
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					at := fmt.Sprint(gateway.Name, " ", port.Port.Port, " ", host.Domain)
					out[at] = append(out[at], name(rule))
				}
			}
		}
	}
	return out
}

func ruleName(rule *ir.Rule) string { return rule.Name }

// rootMatch names the match of the root that leads to a rule.
func rootMatch(rule *ir.Rule) string {
	name, _, _ := strings.Cut(rule.Name, ">")
	return name
}

// TestScopeIsAboutWeightsBelowARoute: with weights off, or with nothing that
// delegates, both scopes are the same, byte for byte.
func TestScopeIsAboutWeightsBelowARoute(t *testing.T) {
	both := func(files map[string]string, weighted bool) (hosts, siblings string) {
		texts := [2]string{}
		for i, scope := range []translate.WeightScope{translate.VirtualHost, translate.Siblings} {
			w := newWorldWith(t, translate.Options{Weighted: weighted, WeightScope: scope})
			w.apply(tree(files))
			texts[i] = w.text()
		}
		return texts[0], texts[1]
	}
	r := rand.New(rand.NewPCG(5, 29))
	files := family(r)
	if hosts, siblings := both(files, false); hosts != siblings {
		t.Error("the scope does something while weights are off")
	}
	if hosts, siblings := both(files, true); hosts == siblings {
		t.Error("the tree does not tell the scopes apart")
	}
	flat := star(0)
	for i := range 40 {
		text := leaf(fmt.Sprint("flat", i), strings.Repeat("/a", r.IntN(3))+pick(r, "/b", "/c"))
		text = strings.Replace(text, "namespace: b}", fmt.Sprintf(`namespace: a, annotations: {kgateway.dev/route-weight: "%d"}}`, r.IntN(3)), 1)
		flat[fmt.Sprint(i, ".yaml")] = strings.Replace(text, "spec:\n", "spec:\n  parentRefs: [{name: eg}]\n", 1)
	}
	delete(flat, "root.yaml")
	flat["gateway.yaml"], _, _ = strings.Cut(star(0)["root.yaml"], "---")
	if hosts, siblings := both(flat, true); hosts != siblings {
		t.Error("the scope does something to routes that are all roots")
	}
}

// TestScopesAreShownOnOneTree: the cases of both scopes ask one folder.
func TestScopesAreShownOnOneTree(t *testing.T) {
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]map[string]string{}
	for _, c := range all {
		files[c.Name] = c.Steps[0].Files
	}
	one, other := files["weight-virtual-host"], files["weight-siblings"]
	if len(one) == 0 || !maps.Equal(one, other) {
		t.Error("weight-virtual-host and weight-siblings have different folders")
	}
}
