package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// gateway is a Gateway with a listener for each of the words, on one port.
func gateway(listeners ...string) string {
	text := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata:\n  name: g\nspec:\n  gatewayClassName: gatefold\n  listeners:\n"
	for _, l := range listeners {
		name, hostname, _ := strings.Cut(l, "@")
		text += fmt.Sprintf("  - {name: %s, port: 80, protocol: HTTP, hostname: %s}\n", name, hostname)
	}
	return text
}

// listenersOf names what serves.
func listenersOf(s *Store) string {
	var names []string
	for _, at := range s.serving.served {
		if g, ok := manifest.As[*gwv1.Gateway](at.object); ok {
			for _, l := range g.Spec.Listeners {
				names = append(names, string(l.Name)+"@"+string(*l.Hostname))
			}
		}
	}
	return strings.Join(names, " ")
}

// Twins serve where no sound version is known, and nowhere else; a restart changes
// neither what serves nor what is told of it.
func TestTwinsServeWhereNothingBetterDoes(t *testing.T) {
	named, hosted, sound := gateway("a@x.io", "a@y.io"), gateway("a@x.io", "b@x.io"), gateway("a@x.io", "b@y.io")
	broken := strings.Replace(hosted, "protocol", "protocoll", 1)
	for _, test := range []struct {
		name  string
		trees []map[string]string
		want  string
	}{
		{"twins by name at a cold start", []map[string]string{{"x.yaml": named}}, "a@x.io a@y.io DuplicateEntry RuleViolated"},
		{"twins by hostname at a cold start", []map[string]string{{"x.yaml": hosted}}, "a@x.io b@x.io RuleViolated"},
		{"other mistakes beside them", []map[string]string{{"x.yaml": broken}}, " RequiredField UnknownField"},
		{"after a sound version", []map[string]string{{"x.yaml": sound}, {"x.yaml": hosted}}, "a@x.io b@y.io LastGoodKept RuleViolated"},
		{"after twins", []map[string]string{{"x.yaml": named}, {"x.yaml": hosted}}, "a@x.io b@x.io RuleViolated"},
		{"a sound version after them", []map[string]string{{"x.yaml": named}, {"x.yaml": sound}}, "a@x.io b@y.io"},
		{"something broken after them", []map[string]string{{"x.yaml": named}, {"x.yaml": broken}}, "a@x.io a@y.io LastGoodKept RequiredField UnknownField"},
		{"beside a sound version", []map[string]string{{"x.yaml": hosted, "y.yaml": sound}}, "a@x.io b@y.io RuleViolated"},
		{"when that goes", []map[string]string{{"x.yaml": hosted, "y.yaml": sound}, {"x.yaml": hosted}}, "a@x.io b@x.io RuleViolated"},
		{"when that goes, in a file that breaks", []map[string]string{{"x.yaml": hosted, "y.yaml": sound}, {"x.yaml": hosted, "y.yaml": "kind: ["}},
			"a@x.io b@y.io InvalidYAML LastGoodKept RuleViolated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t, Options{Save: true})
			var last Change
			for _, files := range test.trees {
				last = s.Apply(treeOf(files))
			}
			told := func(s *Store, c Change) string {
				codes := map[string]bool{}
				for _, p := range c.Problems {
					codes[p.Code] = true
				}
				return listenersOf(s) + " " + strings.Join(slices.Sorted(maps.Keys(codes)), " ")
			}
			if got := strings.TrimRight(told(s, last), " "); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			for _, unchanged := range []bool{true, false} {
				again := newStore(t, Options{Save: true})
				if bad := again.Restore(s.Saved(), unchanged); len(bad) > 0 {
					t.Errorf("restored without %v", bad)
				}
				if got := strings.TrimRight(told(again, again.Apply(treeOf(test.trees[len(test.trees)-1]))), " "); got != test.want {
					t.Errorf("after a restart (sound %v)\ngot  %q\nwant %q", unchanged, got, test.want)
				}
			}
		})
	}
}
