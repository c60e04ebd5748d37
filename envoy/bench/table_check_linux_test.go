package bench

import (
	"strings"
	"testing"
)

func TestRowsSayWhichGoalIsMissed(t *testing.T) {
	for _, c := range []struct {
		row    row
		missed bool
		sound  bool
	}{
		{row{Value: 2, Base: 1, Against: "floor", MaxRatio: 2}, false, true},
		{row{Value: 2.1, Base: 1, Against: "floor", MaxRatio: 2}, true, true},
		{row{Value: 8, Max: 8}, false, true},
		{row{Value: 8.1, Max: 8}, true, true},
		{row{Value: 19, Base: 15, Against: "10 routes", MaxAbove: 4}, false, true},
		{row{Value: 19.1, Base: 15, Against: "10 routes", MaxAbove: 4}, true, true},
		{row{Value: 11, Base: 10, Against: "10 routes", MaxAbove: 4, MaxRatio: 1.05}, true, true},
		{row{Value: 100}, false, true},
		{row{}, false, false},
		{row{Value: 1, Against: "floor"}, false, false}, // the floor was not measured
	} {
		text := strings.Join(c.row.cells(), "|")
		if got := strings.Contains(text, "missed"); got != c.missed || got == c.row.met() {
			t.Errorf("%+v: %s", c.row, text)
		}
		if got := c.row.sound(); got != c.sound {
			t.Errorf("%+v: sound is %v", c.row, got)
		}
	}
}

func TestTableIsMarkdown(t *testing.T) {
	var all table
	all.add(row{Part: "edit", Case: "1,000 routes", Measure: "CPU, ms", Value: 12345.6, Base: 2, Against: "floor", MaxRatio: 2})
	var out strings.Builder
	all.write(&out)
	const want = `| part | case | measure | gatefold | compared with | ratio | goal |
| --- | --- | --- | ---: | ---: | ---: | --- |
| edit | 1,000 routes | CPU, ms | 12,346 | 2.00 (floor) | 6173 | ≤ 2.00 **missed** |
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func TestFiguresOfABenchmark(t *testing.T) {
	got := benchmarkFigures(`goos: linux
BenchmarkFanout/streams=1000/table=300KB-2   	       5	 612345678 ns/op	 490.1 MB/s	       201.5 cpu-ms/op	        95.25 peak-MiB
BenchmarkFanout/streams=1000/table=5000KB-2  	       5	 1 ns/op
PASS
`, "BenchmarkFanout/streams=1000/table=300KB")
	if got["ns/op"] != 612345678 || got["cpu-ms/op"] != 201.5 || got["peak-MiB"] != 95.25 || len(got) != 4 {
		t.Errorf("got %v", got)
	}
}
