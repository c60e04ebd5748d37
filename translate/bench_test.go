package translate_test

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/watcher"
)

// shape is a folder of HTTPRoutes, one to a file, of one rule and one match.
type shape struct {
	routes, hosts int
}

func (s shape) String() string { return fmt.Sprintf("routes=%d/hosts=%d", s.routes, s.hosts) }

func shapes() []shape {
	return []shape{{1000, 1}, {1000, 100}, {10_000, 1}, {10_000, 100}}
}

func (s shape) route(i, revision int) []byte {
	return fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%[1]d}
spec:
  parentRefs: [{name: eg}]
  hostnames: [h%[2]d.example.com]
  rules:
  - matches: [{path: {value: /r%[1]d}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-revision, value: "%[3]d"}]}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b%[4]d}]
`, i, i%s.hosts, revision, i%50)
}

// trees gives the folder, and the folder after an edit of one route.
func (s shape) trees() (before, after watcher.Tree) {
	files := map[string][]byte{"gateway.yaml": []byte(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
`)}
	for i := range 50 {
		files[fmt.Sprintf("backend-%d.yaml", i)] = fmt.Appendf(nil, `apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: b%d}
spec: {type: Static, static: {hosts: [{host: 10.0.0.%d, port: 80}]}}
`, i, i)
	}
	for i := range s.routes {
		files[fmt.Sprintf("route-%05d.yaml", i)] = s.route(i, 0)
	}
	before = cases.Tree(files)
	edited := s.routes / 2
	name, text := fmt.Sprintf("route-%05d.yaml", edited), s.route(edited, 1)
	after = before
	after.Files = before.Files.With([]watcher.File{{Path: name, Content: text, Hash: sha256.Sum256(text)}}, nil)
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
		s := shape{10_000, 1}
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
			before, _ := s.trees()
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
			b.ReportMetric(float64(liveHeap()-empty)/float64(s.routes), "heap-B/route")
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

func loaded(b *testing.B, s shape) (*world, []watcher.Tree) {
	w := newWorld(b)
	w.translator = translate.New(translate.Options{})
	before, after := s.trees()
	w.translator.Apply(w.store.Apply(before))
	return w, []watcher.Tree{before, after}
}

// TestAnEditTouchesWhatItChanges counts what one edit among 500 routes runs and
// sends: the rules of its own route and of the one table it lies in.
func TestAnEditTouchesWhatItChanges(t *testing.T) {
	w := newWorld(t)
	before, after := shape{500, 5}.trees()
	w.apply(before)
	w.apply(after)
	want := []string{
		"flat HTTPRoute default/r250 :8080", "host default/eg:8080 h0.example.com",
		"mount HTTPRoute default/r250", "routeconfig default/eg:8080", "routestatus HTTPRoute default/r250",
	}
	if got := slices.DeleteFunc(w.last.Rebuilt, func(s string) bool { return s == "attach HTTPRoute default/r250" }); !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
	if len(w.last.Delta) != 1 || len(w.last.Status) != 0 {
		t.Errorf("%d resources and %d statuses changed, want 1 and 0", len(w.last.Delta), len(w.last.Status))
	}
}
