package schema

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestRulesWithoutCounting runs the rules of random objects with and without the counting of costs: both find the same.
func TestRulesWithoutCounting(t *testing.T) {
	run := func(c *checker, object map[string]any, most int) []Finding {
		r := &ruleRun{mistakes: &mistakes{checker: c}, budget: celconfig.RuntimeCELCostBudget, most: most}
		r.walk(c.root, object)
		return r.found
	}
	violated := 0
	random := rand.New(rand.NewPCG(3, 9))
	for _, object := range exampleObjects(t) {
		gvk := gvkOf(object)
		for range 4 {
			input := runtime.DeepCopyJSON(object)
			if spec, ok := input["spec"].(map[string]any); ok {
				mutate(random, spec)
			}
			c := kinds(t).kinds[gvk.GroupKind()].checks[gvk.Version]()
			kinds(t).Check(gvk, input) // as Check leaves it, with defaults
			counted, plain := run(c, input, 0), run(c, input, math.MaxInt)
			if violated += len(counted); !reflect.DeepEqual(counted, plain) {
				t.Errorf("%s\ninput   %v\ncounted %v\nplain   %v", gvk.Kind, input, counted, plain)
			}
		}
	}
	if violated < 20 {
		t.Errorf("only %d rules were violated: the test proves little", violated)
	}
}

// TestEveryRuleHasAPlainProgram: a rule without one would be counted, and slow, without a word.
func TestEveryRuleHasAPlainProgram(t *testing.T) {
	rules := 0
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil || !n.ruled {
			return
		}
		if n.rules != nil {
			for _, r := range n.rules() { // which panics where one cannot be compiled
				rules++
				if r.plain == nil {
					t.Errorf("%s: only the library can compile it", r.message)
				}
				r.program(false)
			}
		}
		for _, field := range n.fields {
			visit(field)
		}
		visit(n.values)
		visit(n.items)
	}
	for _, k := range kinds(t).kinds {
		for _, checker := range k.checks {
			visit(checker().root)
		}
	}
	if rules < 100 {
		t.Errorf("%d rules were found", rules)
	}
}

// TestLargeObjectsAreCounted: beyond maxPlain values the cost of rules is bounded by the library.
func TestLargeObjectsAreCounted(t *testing.T) {
	list := make([]any, maxPlain-1)
	small := func(v any) bool { return isSmall(v, maxPlain) }
	if !small(list) || small(append(list, nil)) || small(map[string]any{"a": list, "b": list}) {
		t.Error("isSmall does not count the values")
	}
	long := strings.Repeat("x", maxPlain*textUnit)
	if small(long) || small(map[string]any{long: nil}) || !small(long[:textUnit]) {
		t.Error("isSmall does not count long texts")
	}
}

// TestPartsOfALargeObjectCostNoMore: what is small in a large object is checked without the counting, too. So 128 matches
// in one route take not much more than in 16 routes.
func TestPartsOfALargeObjectCostNoMore(t *testing.T) {
	gvk := apischema.GroupVersionKind{Group: gwv1.GroupName, Version: "v1", Kind: "HTTPRoute"}
	check := func(routes, rules, matches int) float64 {
		var objects []map[string]any
		for range routes {
			var list []any
			for rule := range rules {
				var all []any
				for match := range matches {
					all = append(all, map[string]any{"path": map[string]any{"type": "PathPrefix", "value": fmt.Sprintf("/%d/%d", rule, match)}})
				}
				list = append(list, map[string]any{"matches": all})
			}
			objects = append(objects, map[string]any{
				"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "metadata": map[string]any{"name": "r"}, "spec": map[string]any{"rules": list},
			})
		}
		return testing.AllocsPerRun(1, func() {
			for _, object := range objects {
				kinds(t).Check(gvk, runtime.DeepCopyJSON(object))
			}
		})
	}
	if large, small := check(1, 16, 8), check(16, 1, 8); large > 1.5*small {
		t.Errorf("%.0f allocations in one object, %.0f in 16", large, small)
	}
}
