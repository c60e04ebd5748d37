package schema

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// TestRulesWithoutCounting runs the rules of random objects with and without the counting of costs: both find the same.
func TestRulesWithoutCounting(t *testing.T) {
	run := func(c *checker, object map[string]any, small bool) []Finding {
		r := &ruleRun{mistakes: &mistakes{checker: c}, budget: celconfig.RuntimeCELCostBudget, small: small}
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
			counted, plain := run(c, input, false), run(c, input, true)
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
	if !isSmall(list) || isSmall(append(list, nil)) || isSmall(map[string]any{"a": list, "b": list}) {
		t.Error("isSmall does not count the values")
	}
	long := strings.Repeat("x", maxPlain*textUnit)
	if isSmall(long) || isSmall(map[string]any{long: nil}) || !isSmall(long[:textUnit]) {
		t.Error("isSmall does not count long texts")
	}
}
