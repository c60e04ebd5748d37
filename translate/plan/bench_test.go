package plan_test

import (
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/plan"
)

// side translates files.
func side(t testing.TB, files map[string][]byte) plan.Side {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := s.Apply(cases.Tree(files))
	result := translate.New(translate.Options{Bind: []string{"127.0.0.1"}}).Apply(change)
	return plan.Side{
		View: result.View(), Problems: append(change.Problems, s.Locate(result.Problems)...), Objects: change.Set, Resources: result.Delta, Places: s.Places,
	}
}

// BenchmarkCompare measures the plan for 10,000 routes after one of them, or all of them, were
// edited.
func BenchmarkCompare(b *testing.B) {
	for _, shape := range []cases.Shape{{Routes: 10_000, Hosts: 1}, {Routes: 10_000, Hosts: 100}} {
		before, one, all := shape.Files(), shape.Files(), shape.Files()
		one[shape.FileOf(shape.Routes/2)] = shape.Route(shape.Routes/2, 1)
		for i := range shape.Routes {
			all[shape.FileOf(i)] = shape.Route(i, 1)
		}
		old := side(b, before)
		for name, files := range map[string]map[string][]byte{"one": one, "all": all} {
			now := side(b, files)
			b.Run(shape.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if report, err := plan.Compare(b.Context(), old, now); err != nil || !report.Changes {
						b.Fatal("nothing changes")
					}
				}
			})
		}
	}
}
