package route_test

import (
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// Each criterion of Compare has its words, which speak of that one alone.
func TestWhyNamesTheCriterionThatDecides(t *testing.T) {
	origin := func(name string, year int) *ir.Origin {
		o := &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "n", Name: name}}
		if year > 0 {
			o.Created = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return o
	}
	plain := func(change func(*ir.Rule)) *ir.Rule {
		r := &ir.Rule{
			Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/a"}}, Root: origin("r", 2020), Source: origin("s", 2020),
			Position: []int{1, 0},
		}
		change(r)
		return r
	}
	value := []ir.ValueMatch{{Name: "x", Value: "1"}}
	for want, change := range map[string]func(winner, loser *ir.Rule){
		"a higher weight wins (3, not 0)":                                      func(w, _ *ir.Rule) { w.Weight = 3 },
		"a longer path wins (/a/b, not /a)":                                    func(w, _ *ir.Rule) { w.Match.Path.Value = "/a/b" },
		"an exact path goes before a path prefix":                              func(w, _ *ir.Rule) { w.Match.Path.Kind = ir.PathExact },
		"a regular expression goes before a path prefix":                       func(w, _ *ir.Rule) { w.Match.Path.Kind = ir.PathRegex },
		"a match with a method goes before one without":                        func(w, _ *ir.Rule) { w.Match.Method = "GET" },
		"more header matches win (1, not 0)":                                   func(w, _ *ir.Rule) { w.Match.Headers = value },
		"more query parameter matches win (1, not 0)":                          func(w, _ *ir.Rule) { w.Match.Query = value },
		"it stands in for what is missing, and comes last among equal matches": func(_, l *ir.Rule) { l.Guard = true },
		"the matches are equal, and HTTPRoute n/r is older":                    func(_, l *ir.Rule) { l.Root = origin("a", 2021) },
		"the matches are equal, and HTTPRoute n/r has a creationTimestamp":     func(_, l *ir.Rule) { l.Root = origin("a", 0) },
		"the matches are equal, and HTTPRoute n/s comes first by name":         func(_, l *ir.Rule) { l.Source = origin("t", 2020) },
		"the matches are equal, and the first one in the route wins":           func(_, l *ir.Rule) { l.Position = []int{1, 1} },
		"the matches are equal, and its way through the parents comes first": func(_, l *ir.Rule) {
			l.Chain, l.Position = []ir.Hop{{Rule: 2}}, []int{2, 0, 1, 0}
		},
		"it answers what nothing else in its block does": func(w, l *ir.Rule) {
			block := plain(func(*ir.Rule) {})
			w.Blocks, l.Blocks = []*ir.Rule{block}, []*ir.Rule{block}
			w.Weight, l.Guard = -3, true
		},
		"it is in the block of rule 4, match 2 of HTTPRoute n/s, which comes later: a longer path wins (/a, not /)": func(_, l *ir.Rule) {
			l.Blocks = []*ir.Rule{plain(func(b *ir.Rule) { b.Match.Path.Value, b.Position = "/", []int{4, 2} })}
			l.Weight, l.Match.Path.Value = 9, "/a/b/c"
		},
		"the winner is in the block of rule 1, match 0 of HTTPRoute n/s, which comes first: a higher weight wins (2, not 0)": func(w, l *ir.Rule) {
			w.Blocks = []*ir.Rule{plain(func(b *ir.Rule) { b.Weight = 2 })}
			w.Weight, l.Match.Method = -1, "GET"
		},
		"it is in the block of rule 5, match 0 of HTTPRoute n/s, which comes after that of rule 1, match 0 of HTTPRoute n/s: the matches are equal, and the first one in the route wins": func(w, l *ir.Rule) {
			outer := plain(func(b *ir.Rule) { b.Position = []int{3, 3} })
			w.Blocks = []*ir.Rule{outer, plain(func(*ir.Rule) {})}
			l.Blocks = []*ir.Rule{outer, plain(func(b *ir.Rule) { b.Position = []int{5, 0} })}
			l.Weight = 1
		},
	} {
		winner, loser := plain(func(*ir.Rule) {}), plain(func(*ir.Rule) {})
		change(winner, loser)
		if route.Compare(winner, loser) >= 0 {
			t.Errorf("%s: the winner does not win", want)
		}
		if got := route.Why(winner, loser); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
