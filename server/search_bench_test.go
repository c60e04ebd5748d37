package server

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSearch is what it costs the server, per Envoy, to find the bad route of an
// edit and to serve the table without it. Probes are what Envoy has to read for it.
func BenchmarkSearch(b *testing.B) {
	for _, routes := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
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
			then := compiled(tableOfText(strings.Replace(text.String(), fmt.Sprintf("%d/%d ", 50, routes/2+50), "50/bad ", 1)), keys...)
			line := then.linear()
			probes, bytes := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				t := &tableState{accepted: first, refused: map[unit]*refusedPart{}}
				t.begin(then, "missing ): bad")
				for t.search != nil {
					probes, bytes = probes+1, bytes+t.search.probe.size()
					words := "missing ): bad"
					if !strings.Contains(string(t.search.probe.Body), "bad") {
						words = probeMark
					}
					t.narrow(words)
				}
				if t.amend(then) == then {
					b.Fatal("nothing was found")
				}
			}
			b.ReportMetric(float64(probes)/float64(b.N), "probes/op")
			b.ReportMetric(float64(bytes)/float64(b.N*line.size()), "tables-sent/op")
		})
	}
}
