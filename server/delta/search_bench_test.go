package delta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/xds"
)

// BenchmarkSearch is what it costs the server to find the bad routes of an edit for one Envoy, and
// to make the table without them. Tables-sent is what an Envoy has to read for it.
func BenchmarkSearch(b *testing.B) {
	for _, routes := range []int{1000, 10_000} {
		for _, bad := range []int{1, 100, routes / 2} {
			b.Run(fmt.Sprintf("routes=%d/bad=%d", routes, bad), func(b *testing.B) { benchmarkSearch(b, routes, bad) })
		}
	}
}

func benchmarkSearch(b *testing.B, routes, bad int) {
	var text strings.Builder
	text.WriteString("h:")
	for i := range routes {
		says := "fine"
		if i%(routes/bad) == 0 {
			says = "bad"
		}
		fmt.Fprintf(&text, " r%d=%d/%s%d", i, i%100, says, i)
	}
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprintf("/%d/", i)
	}
	then := compiled(tableOfText(text.String()), keys...)
	probes, bytes := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		s := &search{of: then}
		s.begin(then.suspects(nil))
		for !s.over {
			probe := s.probe(s.window())
			probes, bytes = probes+1, bytes+probe.size()
			words := "missing ): bad"
			if !strings.Contains(string(probe.Body), "bad") {
				words = probeMark
			}
			s.answer(words)
		}
		faults := map[xds.Part]xds.Fault{}
		for _, f := range s.found {
			faults[f.Part] = xds.Fault{Sum: f.Sum()}
		}
		if len(then.without(faults).leftOut) != bad {
			b.Fatalf("found are %d of %d", len(faults), bad)
		}
	}
	b.ReportMetric(float64(probes)/float64(b.N), "probes")
	b.ReportMetric(float64(bytes)/float64(b.N*then.size()), "tables-sent")
}
