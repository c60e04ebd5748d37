package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// The roles that this program takes when it starts itself again.
const (
	roleVariable = "GATEFOLD_BENCH_ROLE"
	jobVariable  = "GATEFOLD_BENCH_JOB"

	roleFloor = "floor"
	roleParse = "parse"
)

var sizeFlag = flag.String("size", "tiny", "how much is measured: tiny (a test, no figures), quick, usual or full")

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		code := m.Run()
		if scratch != "" {
			_ = os.RemoveAll(scratch) // else it stays for the system to remove
		}
		os.Exit(code)
	}
	if err := play(role, []byte(os.Getenv(jobVariable))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(role string, job []byte) error {
	switch role {
	case roleFloor:
		var j floorJob
		if err := json.Unmarshal(job, &j); err != nil {
			return err
		}
		return runFloor(j)
	case roleParse:
		var j parseJob
		if err := json.Unmarshal(job, &j); err != nil {
			return err
		}
		return runParse(j)
	}
	return fmt.Errorf("there is no role %q", role)
}

// size is how much a run measures.
type size struct {
	// edits are numbers of routes for the edits, editCount how often each is edited.
	edits     []int
	editCount int
	// attackRoutes are in the largest file of an attack.
	attackRoutes int
	// effectRoutes are in the table whose edits an Envoy takes.
	effectRoutes int
	// startRoutes are numbers of routes for the starts, starts how often each is made.
	startRoutes []int
	starts      int
	// The heap is compared after the first number of edits and the second.
	memoryRoutes int
	memoryEdits  [2]int
	// fanoutStreams is how many clients there are for fanoutEdits edits.
	fanoutStreams, fanoutEdits int
	// lookups are the numbers of routes of the tables that are asked, each for a time in
	// every round.
	lookups      []int
	lookupRounds int
	lookupTime   time.Duration
}

func sizes() map[string]size {
	return map[string]size{
		"tiny": {
			edits: []int{150}, editCount: 3, attackRoutes: 10, effectRoutes: 150, startRoutes: []int{50}, starts: 1,
			memoryRoutes: 50, memoryEdits: [2]int{50, 100},
			fanoutStreams: 100, fanoutEdits: 1,
			lookups: []int{10, 150}, lookupRounds: 1, lookupTime: 20 * time.Millisecond,
		},
		"quick": {
			edits: []int{1000, 10_000}, editCount: 20, attackRoutes: 100, effectRoutes: 10_000, startRoutes: []int{10_000}, starts: 1,
			memoryRoutes: 10_000, memoryEdits: [2]int{1000, 2000},
			fanoutStreams: 1000, fanoutEdits: 3,
			lookups: []int{10, 1000, 10_000}, lookupRounds: 3, lookupTime: 300 * time.Millisecond,
		},
		"usual": {
			edits: []int{1000, 10_000}, editCount: 60, attackRoutes: 270, effectRoutes: 10_000, startRoutes: []int{10_000}, starts: 3,
			memoryRoutes: 10_000, memoryEdits: [2]int{1000, 20_000},
			fanoutStreams: 1000, fanoutEdits: 3,
			lookups: []int{10, 1000, 10_000, 50_000}, lookupRounds: 9, lookupTime: 400 * time.Millisecond,
		},
		"full": {
			edits: []int{1000, 10_000, 100_000}, editCount: 60, attackRoutes: 270, effectRoutes: 10_000, startRoutes: []int{10_000, 100_000}, starts: 3,
			memoryRoutes: 10_000, memoryEdits: [2]int{1000, 100_000},
			fanoutStreams: 1000, fanoutEdits: 3,
			lookups: []int{10, 1000, 10_000, 50_000}, lookupRounds: 9, lookupTime: 400 * time.Millisecond,
		},
	}
}

// run is one run of the benchmark.
type run struct {
	size
	table *table
}

// parts are what a run measures, in the order of the table.
func parts() []struct {
	name    string
	measure func(*testing.T, *run)
} {
	return []struct {
		name    string
		measure func(*testing.T, *run)
	}{
		{"edit", measureEdits},
		{"attack", measureAttack},
		{"effect", measureEffect},
		{"start", measureStart},
		{"memory", measureMemory},
		{"fanout", measureFanout},
		{"lookup", measureLookup},
		{"chain", measureChain},
	}
}

// TestBench measures all parts and prints the table. `-run TestBench/edit` takes one.
func TestBench(t *testing.T) {
	chosen, ok := sizes()[*sizeFlag]
	if !ok {
		t.Fatalf("-size %q: must be tiny, quick, usual or full", *sizeFlag)
	}
	r := &run{chosen, &table{}}
	for _, part := range parts() {
		before := len(r.table.rows)
		t.Run(part.name, func(t *testing.T) {
			began := time.Now()
			part.measure(t, r)
			for _, row := range r.table.rows[before:] {
				if !row.sound() {
					t.Errorf("nothing was measured: %+v", row)
				}
			}
			if len(r.table.rows) == before {
				t.Error("no rows")
			}
			progress("%s took %v", part.name, time.Since(began).Round(time.Second))
		})
	}
	if *sizeFlag != "tiny" || testing.Verbose() {
		fmt.Println()
		r.table.write(os.Stdout)
	}
}

// progress tells who waits what is done.
func progress(format string, values ...any) {
	if *sizeFlag != "tiny" {
		fmt.Fprintf(os.Stderr, format+"\n", values...)
	}
}

// build makes the program that is measured, once.
func build(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// scratch is the folder of what was built, "" while nothing was.
var scratch string

var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "gatefold-bench-")
	if err != nil {
		return "", err
	}
	scratch = folder
	path := filepath.Join(folder, "gatefold")
	said, err := exec.Command("go", "build", "-o", path, "github.com/gatefold/gatefold").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return path, nil
})

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// median gives the middle one, in milliseconds.
func median(of []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return ms(sorted[len(sorted)/2])
}

// mean gives the average, in milliseconds.
func mean(of []time.Duration) float64 {
	var sum time.Duration
	for _, d := range of {
		sum += d
	}
	return ms(sum) / float64(len(of))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func tableName(address string) string {
	_, port, _ := strings.Cut(address, ":")
	return ir.TableName("default/eg/http-"+port, ir.FilterGeneration)
}
