package server

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSearch is what it costs the server when so many Envoys refuse one edit of a
// table: the bad route is found for each of them, and each is given the table without
// it. Probes are what an Envoy has to read for it.
func BenchmarkSearch(b *testing.B) {
	for _, streams := range []int{1, 100} {
		for _, routes := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("streams=%d/routes=%d", streams, routes), func(b *testing.B) { benchmarkSearch(b, streams, routes) })
		}
	}
}

func benchmarkSearch(b *testing.B, streams, routes int) {
	var text strings.Builder
	text.WriteString("h:")
	for i := range routes {
		fmt.Fprintf(&text, " r%d=%d/%d", i, i%100, i)
	}
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprintf("/%d/", i)
	}
	first := compiled(tableOfText(text.String()), keys...)
	then := compiled(tableOfText(strings.Replace(text.String(), "=50/50 ", "=50/bad ", 1)), keys...)
	size, probes, bytes := then.linear().size(), 0, 0
	b.ReportAllocs()
	for b.Loop() {
		states := make([]*tableState, streams)
		for i := range states {
			states[i] = &tableState{accepted: first, refused: map[unit]*refusedPart{}}
			states[i].begin(then, "missing ): bad")
		}
		for states[0].search != nil { // all go in step, as Envoys of one machine do
			for _, t := range states {
				probes, bytes = probes+1, bytes+t.search.probe.size()
				words := "missing ): bad"
				if !strings.Contains(string(t.search.probe.Body), "bad") {
					words = probeMark
				}
				t.narrow(words)
			}
		}
		for _, t := range states {
			if t.amend(then) == then {
				b.Fatal("nothing was found")
			}
		}
		then.forms = forms{} // the next ones find nothing made
	}
	b.ReportMetric(float64(probes)/float64(b.N*streams), "probes/stream")
	b.ReportMetric(float64(bytes)/float64(b.N*streams*size), "tables-sent/stream")
}
