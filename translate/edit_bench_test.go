package translate_test

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// editShapes are cases.Shapes; GATEFOLD_LARGE adds those of 100,000 routes.
func editShapes() []cases.Shape { return cases.Shapes(os.Getenv("GATEFOLD_LARGE") != "") }

// made returns a Translator that was told of a shape, and the Changes of its middle route
// to and fro.
func made(t testing.TB, s cases.Shape, options translate.Options) (*translate.Translator, [2]store.Change) {
	t.Helper()
	all, route, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	translator := translate.New(options)
	result := translator.Apply(store.Change{Set: all})
	if len(result.Problems) > 0 {
		t.Fatalf("of %s: %v", s, result.Problems[0])
	}
	var edits [2]store.Change
	for i := range edits {
		edits[i].Set = []*manifest.Object{route(s.Routes/2, i+1)}
	}
	return translator, edits
}

// BenchmarkShapeEdit measures one edited leaf from store.Change to Result in every shape.
func BenchmarkShapeEdit(b *testing.B) {
	for _, s := range editShapes() {
		b.Run(s.String(), func(b *testing.B) {
			translator, edits := made(b, s, translate.Options{})
			for _, edit := range edits {
				translator.Apply(edit)
			}
			b.ReportAllocs()
			begin := cpuTime(b)
			for i := 0; b.Loop(); i++ {
				if result := translator.Apply(edits[i%2]); len(result.Delta) != 1 {
					b.Fatalf("%d resources changed", len(result.Delta))
				}
			}
			b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkHeap measures what a Translator keeps for each route, without the objects
// themselves, which the store keeps too. GATEFOLD_HEAP names a file for a profile of it.
func BenchmarkHeap(b *testing.B) {
	for _, s := range []cases.Shape{{Routes: 10_000, Hosts: 1}, {Routes: 10_000, Hosts: 100}, {Routes: 10_000, Hosts: 1, Delegated: true}, {Routes: 10_000, Hosts: 10_000}} {
		b.Run(s.String(), func(b *testing.B) {
			all, _, err := s.Objects()
			if err != nil {
				b.Fatal(err)
			}
			var kept *translate.Translator
			begin := liveHeap()
			for b.Loop() {
				kept = translate.New(translate.Options{})
				kept.Apply(store.Change{Set: all})
			}
			b.ReportMetric(float64(liveHeap()-begin)/float64(s.Routes), "heap-B/route")
			if path := os.Getenv("GATEFOLD_HEAP"); path != "" {
				writeHeap(b, path)
			}
			runtime.KeepAlive(kept)
			runtime.KeepAlive(all)
		})
	}
}

func writeHeap(b *testing.B, path string) {
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(file), file.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
}
