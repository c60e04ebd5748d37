package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fanoutLimit is how long the edits of one table may take: a simulated Envoy that loses its
// connection, as on a machine with too much to do, does not come back and would be
// waited for.
const fanoutLimit = 4 * time.Minute

// measureFanout takes over what server's own benchmark tells of one edit for many Envoys:
// its clients are simulated, and the server is a process of its own.
func measureFanout(t *testing.T, r *run) {
	program := filepath.Join(t.TempDir(), "server.test")
	if said, err := exec.Command("go", "test", "-c", "-o", program, "github.com/gatefold/gatefold/server").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, table := range []struct {
		name    string
		kb      int
		seconds float64
	}{{"300 KB", 300, 1}, {"5 MB", 5000, 15}} {
		name := fmt.Sprintf("BenchmarkFanout/streams=%d/table=%dKB", r.fanoutStreams, table.kb)
		command := exec.Command(program, "-test.run", "^$", "-test.bench", "^"+strings.ReplaceAll(name, "/", "$/^")+"$",
			"-test.benchtime", fmt.Sprintf("%dx", r.fanoutEdits), "-test.timeout", fanoutLimit.String())
		command.Dir = t.TempDir()
		command.SysProcAttr = dieWithParent()
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %.2000s", name, err, out)
			continue
		}
		figures := benchmarkFigures(string(out), name)
		what := fmt.Sprintf("%s streams, a table of %s", thousands(r.fanoutStreams), table.name)
		r.table.add(
			row{Part: "fan-out", Case: what, Measure: "edit to the last client's ACK, s", Value: figures["ns/op"] / 1e9, Max: table.seconds},
			row{Part: "fan-out", Case: what, Measure: "CPU for an edit, s", Value: figures["cpu-ms/op"] / 1000},
			row{Part: "fan-out", Case: what, Measure: "largest RSS, MiB", Value: figures["peak-MiB"], Max: 1024},
			row{Part: "fan-out", Case: what, Measure: "RSS for each stream, KiB", Value: figures["rss-KiB/stream"], Max: 200},
		)
	}
}

// benchmarkFigures gives what a benchmark reports, by unit.
func benchmarkFigures(out, name string) map[string]float64 {
	figures := map[string]float64{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != name && !strings.HasPrefix(fields[0], name+"-") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				figures[fields[i+1]] = value
			}
		}
	}
	return figures
}
