package translate_test

import (
	"crypto/sha256"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/watcher"
)

func shapes() []cases.Shape {
	return []cases.Shape{{Routes: 1000, Hosts: 1}, {Routes: 1000, Hosts: 100}, {Routes: 10_000, Hosts: 1}, {Routes: 10_000, Hosts: 100}}
}

// treesOf returns a shape's folder, and the folder after an edit of its middle route.
func treesOf(s cases.Shape) (before, after watcher.Tree) {
	before = cases.Tree(s.Files())
	text := s.Route(s.Routes/2, 1)
	after = before
	after.Files = before.Files.With([]watcher.File{{Path: s.FileOf(s.Routes / 2), Content: text, Hash: sha256.Sum256(text)}}, nil)
	return before, after
}

// BenchmarkEdit measures one edited route from Tree to Result: split, parse,
// validate, translate, encode.
func BenchmarkEdit(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.String(), func(b *testing.B) {
			w, trees := loaded(b, s)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				result := w.translator.Apply(w.store.Apply(trees[(i+1)%2]))
				if len(result.Delta) != 1 {
					b.Fatalf("%d resources changed", len(result.Delta))
				}
			}
		})
	}
}

// BenchmarkTranslateEdit is the part of BenchmarkEdit that translate does.
func BenchmarkTranslateEdit(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.String(), func(b *testing.B) {
			w, trees := loaded(b, s)
			changes := []store.Change{w.store.Apply(trees[1]), w.store.Apply(trees[0])}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.translator.Apply(changes[i%2])
			}
		})
	}
}

// BenchmarkIdentityEdit is BenchmarkTranslateEdit at a Gateway where a policy sets an identity
// header: each virtual host asks which namespaces have routes there.
func BenchmarkIdentityEdit(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.String(), func(b *testing.B) {
			w, trees := loaded(b, s)
			policy := watcher.File{Path: "policy.yaml", Hash: [32]byte{1}, Content: []byte(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: staff}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r0}]
  apiKeyAuth: {clientIdHeader: x-client, secretRef: {name: keys}}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {partner: k-1}
`)}
			var changes []store.Change
			for _, tree := range []watcher.Tree{trees[0], trees[1], trees[0]} {
				tree.Files = tree.Files.With([]watcher.File{policy}, nil)
				changes = append(changes, w.store.Apply(tree))
			}
			w.translator.Apply(changes[0])
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.translator.Apply(changes[1+i%2])
			}
		})
	}
}

// BenchmarkLeafEdit measures one edited leaf of 10,000 below one root that names them
// by *, from Tree to Result: the median and the 95th percentile.
func BenchmarkLeafEdit(b *testing.B) {
	w, files := newWorld(b), star(10_000)
	trees := make([]watcher.Tree, 2)
	for i, path := range []string{"/a/even", "/a/odd"} {
		files["leaf5000.yaml"] = leaf("leaf5000", path)
		trees[i] = tree(files)
	}
	w.apply(trees[0])
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		if result := w.translator.Apply(w.store.Apply(trees[(i+1)%2])); len(result.Delta) != 1 {
			b.Fatalf("%d resources changed", len(result.Delta))
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "µs-p95")
}

// BenchmarkGatewayPolicyEdit is the part that translate does of an edit of a policy
// of a Gateway: of a field that virtual hosts hold, and of one that routes must.
func BenchmarkGatewayPolicyEdit(b *testing.B) {
	for field, values := range map[string][2]string{
		"held by the host": {`cors: {allowOrigins: ["https://a.example.com"]}`, `cors: {allowOrigins: ["https://b.example.com"]}`},
		"in every route":   {"timeouts: {request: 1s}", "timeouts: {request: 2s}"},
	} {
		s := cases.Shape{Routes: 10_000, Hosts: 1}
		b.Run(field+"/"+s.String(), func(b *testing.B) {
			w, trees := loaded(b, s)
			changes := make([]store.Change, 2)
			for i, value := range values {
				policy := watcher.File{Path: "policy.yaml", Hash: [32]byte{byte(i)}, Content: []byte(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: p}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: eg}]
  ` + value + "\n")}
				tree := trees[0]
				tree.Files = tree.Files.With([]watcher.File{policy}, nil)
				changes[i] = w.store.Apply(tree)
				w.translator.Apply(changes[i])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if result := w.translator.Apply(changes[i%2]); len(result.Delta) != 1 {
					b.Fatalf("%d resources changed", len(result.Delta))
				}
			}
		})
	}
}

// BenchmarkCold measures a whole folder from Tree to Result, and the live heap
// for each route, files' text included.
func BenchmarkCold(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.String(), func(b *testing.B) {
			empty := liveHeap()
			before, _ := treesOf(s)
			b.ReportAllocs()
			var kept []any
			for b.Loop() {
				objects, err := store.New(store.Options{})
				if err != nil {
					b.Fatal(err)
				}
				translator := translate.New(translate.Options{})
				kept = []any{objects, translator, translator.Apply(objects.Apply(before))}
			}
			b.ReportMetric(float64(liveHeap()-empty)/float64(s.Routes), "heap-B/route")
			runtime.KeepAlive(kept)
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func loaded(b *testing.B, s cases.Shape) (*world, []watcher.Tree) {
	w := newWorld(b)
	w.translator = translate.New(translate.Options{})
	before, after := treesOf(s)
	w.translator.Apply(w.store.Apply(before))
	return w, []watcher.Tree{before, after}
}

// TestAnEditTouchesWhatItChanges counts what one edit among 500 routes runs and
// sends: the rules of its own route and of the one table it lies in.
func TestAnEditTouchesWhatItChanges(t *testing.T) {
	w := newWorld(t)
	before, after := treesOf(cases.Shape{Routes: 500, Hosts: 5})
	w.apply(before)
	w.apply(after)
	want := []string{
		"alone HTTPRoute default/r250", "flat HTTPRoute default/r250 :8080", "hides default/eg:8080 h0.example.com", "host default/eg:8080 h0.example.com",
		"mount HTTPRoute default/r250", "mounted HTTPRoute default/r250", "routeconfig default/eg:8080",
		"routestatus HTTPRoute default/r250", "trial HTTPRoute default/r250 :8080",
	}
	if got := slices.DeleteFunc(w.rebuilt, func(s string) bool { return s == "attach HTTPRoute default/r250" }); !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
	if len(w.last.Delta) != 1 || len(w.last.Status) != 0 {
		t.Errorf("%d resources and %d statuses changed, want 1 and 0", len(w.last.Delta), len(w.last.Status))
	}
}
