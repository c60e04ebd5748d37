package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// editGroup is how many files are renamed together where many edits are wanted: one at a
// time, their quiet times alone would take an hour.
const editGroup = 500

// measureMemory takes the live heap for each HTTPRoute, and what becomes of it over many
// edits.
func measureMemory(t *testing.T, r *run) {
	s := shape{Routes: r.memoryRoutes, Hosts: 100}
	empty := startedOn(t, shape{Hosts: 1, Routes: 1})
	base := empty.liveHeap()
	empty.stop()

	full := startedOn(t, s)
	loaded := full.liveHeap()
	what := s.String()
	r.table.add(
		row{Part: "memory", Case: what, Measure: "live heap for each HTTPRoute, KB", Value: (loaded - base) / 1000 / float64(s.Routes), Max: 8},
		row{Part: "memory", Case: what, Measure: "largest RSS of the start, MB", Value: full.peak()},
	)
	few := full.edits(0, r.memoryEdits[0])
	many := full.edits(r.memoryEdits[0], r.memoryEdits[1])
	r.table.add(row{
		Part: "memory", Case: what, Measure: fmt.Sprintf("live heap after %s edits, MB", thousands(r.memoryEdits[1])),
		Value: many / 1e6, Base: few / 1e6, Against: fmt.Sprintf("after %s", thousands(r.memoryEdits[0])), MaxRatio: 1.05,
	})
}

// started is a gatefold that serves a shape to a client.
type started struct {
	*gatefold
	shape   shape
	client  *client
	address string // of its Gateway
}

func startedOn(t *testing.T, s shape) *started {
	t.Helper()
	folder, address := t.TempDir(), envoytest.LoopbackAddress()
	s.write(t, folder, address, 10_000)
	g := serve(t, folder, "--state-dir", t.TempDir())
	c := connect(t, g.xds, tableName(address+":10000"))
	c.next(s.envoyName(s.Routes - 1))
	g.rest()
	return &started{g, s, c, address}
}

// edits makes the edits of these numbers and returns the live heap after them.
func (g *started) edits(from, to int) float64 {
	g.t.Helper()
	for i := from; i < to; {
		n := min(editGroup, g.shape.Routes, to-i)
		for ; n > 0; n-- {
			route, revision := i%g.shape.Routes, 20_000_000+i
			text := g.shape.route(route, revision)
			g.edit(g.shape.file(route), text)
			i++
		}
		g.client.next(fmt.Sprint(20_000_000 + i - 1))
	}
	g.rest()
	return g.liveHeap()
}

// peak is the largest resident set so far, in MB.
func (g *started) peak() float64 {
	g.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.command.Process.Pid))
	if err != nil {
		g.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				g.t.Fatal(err)
			}
			return kilobytes * 1024 / 1e6
		}
	}
	g.t.Fatal("no figure of the resident set")
	return 0
}
