package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// setFiles is a Gateway with n ListenerSets, each with a listener of its own host and a
// route that attaches to it.
func setFiles(n int) map[string][]byte {
	files := map[string][]byte{"gateway.yaml": []byte(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, port: 8080, protocol: HTTP}]
`)}
	for i := range n {
		files[fmt.Sprintf("set-%05d.yaml", i)] = setFile(i, fmt.Sprintf("h%d.example.com", i))
	}
	return files
}

func setFile(i int, host string) []byte {
	return fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: s%[1]d}
spec:
  parentRef: {name: eg}
  listeners: [{name: http, port: 8080, protocol: HTTP, hostname: %[2]s}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%[1]d}
spec:
  parentRefs: [{kind: ListenerSet, name: s%[1]d}]
  rules:
  - matches: [{path: {value: /r%[1]d}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]
`, i, host)
}

// BenchmarkListenerSetEdit measures the part that translate does when one ListenerSet of
// a Gateway gets another hostname.
func BenchmarkListenerSetEdit(b *testing.B) {
	for _, n := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprintf("sets=%d", n), func(b *testing.B) {
			w, files := newWorld(b), setFiles(n)
			w.translator = translate.New(translate.Options{})
			w.translator.Apply(w.store.Apply(cases.Tree(files)))
			var edits [2]store.Change
			for i, host := range []string{"other.example.com", "h7.example.com"} {
				files["set-00007.yaml"] = setFile(7, host)
				edits[i] = w.store.Apply(cases.Tree(files))
				if result := w.translator.Apply(edits[i]); len(result.Problems) > 0 || len(result.Delta) == 0 {
					b.Fatal(result.Problems, len(result.Delta))
				}
			}
			b.ReportAllocs()
			begin := cpuTime(b)
			for i := 0; b.Loop(); i++ {
				w.translator.Apply(edits[i%2])
			}
			b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
		})
	}
}

// TestASetAmongMany edits one ListenerSet of many: no route of another set is looked at,
// and as many as with fewer sets.
func TestASetAmongMany(t *testing.T) {
	ran := map[string][]int{}
	for _, n := range []int{20, 60} {
		w, files := newWorld(t), setFiles(n)
		w.apply(cases.Tree(files))
		files["set-00007.yaml"] = setFile(7, "other.example.com")
		w.apply(cases.Tree(files))
		w.checkCold(t)
		counts := map[string]int{}
		for _, one := range w.rebuilt {
			name, key, _ := strings.Cut(one, " ")
			if name != "part" && name != "routeconfig" && name != "gateway" {
				counts[name]++
			}
			if strings.HasPrefix(key, "HTTPRoute ") && !strings.HasPrefix(key, "HTTPRoute default/r7") {
				t.Errorf("of %d sets, ran: %s", n, one)
			}
		}
		for name, count := range counts {
			ran[name] = append(ran[name], count)
		}
	}
	for name, counts := range ran {
		if len(counts) != 2 || counts[0] != counts[1] {
			t.Errorf("%s ran %d times with 20 sets and with 60", name, counts)
		}
	}
}
