package translate_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// touched is what an edit came to.
type touched struct {
	rules   map[string]int // that ran, by family
	routes  []string       // of which a rule ran
	encoded int            // bytes of routes that were encoded anew
	sent    []string       // resources
}

// touch edits one route of a shape.
func touch(t *testing.T, s cases.Shape) touched {
	t.Helper()
	translator, edits := made(t, s, translate.Options{})
	translator.Apply(edits[0])
	before, ran := translator.Encodings(), translator.Ran()
	result := translator.Apply(edits[1])
	out := touched{rules: map[string]int{}}
	routes := map[string]bool{}
	for _, one := range ran() {
		name, key, _ := strings.Cut(one, " ")
		out.rules[name]++
		if _, child, link := strings.Cut(key, " → "); link {
			key = child // what stands between the two
		}
		if route, ok := strings.CutPrefix(key, "HTTPRoute "); ok {
			route, _, _ = strings.Cut(route, " ")
			routes[route] = true
		}
	}
	out.routes = slices.Sorted(maps.Keys(routes))
	for at, size := range translator.Encodings() {
		if _, kept := before[at]; !kept {
			out.encoded += size
		}
	}
	for _, update := range result.Delta {
		out.sent = append(out.sent, update.Name)
	}
	if len(result.Status) > 0 || len(result.Infra) > 0 || len(result.Problems) > 0 {
		t.Errorf("%s: %d statuses, %d Gateways' needs, %d problems", s, len(result.Status), len(result.Infra), len(result.Problems))
	}
	return out
}

// TestAnEditCostsTheSameInALargeFolder counts what one edited leaf runs, touches, encodes
// and sends in a folder and in one four times as large, in every shape: it is the same.
func TestAnEditCostsTheSameInALargeFolder(t *testing.T) {
	for name, shape := range map[string]func(n int) cases.Shape{
		"one host":     func(n int) cases.Shape { return cases.Shape{Routes: n, Hosts: 1} },
		"100 hosts":    func(n int) cases.Shape { return cases.Shape{Routes: n, Hosts: 100} },
		"a host each":  func(n int) cases.Shape { return cases.Shape{Routes: n, Hosts: n} },
		"16 by 16":     func(n int) cases.Shape { return cases.Shape{Routes: n, Hosts: 1, Delegated: true} },
		"on six hosts": func(n int) cases.Shape { return cases.Shape{Routes: n, Hosts: 6, Delegated: true} },
	} {
		t.Run(name, func(t *testing.T) {
			small, large := touch(t, shape(200)), touch(t, shape(800))
			if !maps.Equal(small.rules, large.rules) || len(small.rules) == 0 {
				t.Errorf("rules that ran:\n%v among 200 routes,\n%v among 800", small.rules, large.rules)
			}
			if len(small.routes) != 1 || len(large.routes) != 1 {
				t.Errorf("an edit of one route touches %q among 200, %q among 800", small.routes, large.routes)
			}
			// The names of routes have one more digit here or there.
			if small.encoded == 0 || large.encoded == 0 || max(small.encoded, large.encoded)-min(small.encoded, large.encoded) > 20 {
				t.Errorf("an edit of one route encodes %d bytes among 200, %d among 800", small.encoded, large.encoded)
			}
			if want := []string{"default/eg/http-8080/filters-2"}; !slices.Equal(small.sent, want) || !slices.Equal(large.sent, want) {
				t.Errorf("sent are %q among 200, %q among 800", small.sent, large.sent)
			}
		})
	}
}
