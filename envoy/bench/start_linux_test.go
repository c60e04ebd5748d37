package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// measureStart takes the CPU time that gatefold needs from its start until it is at rest,
// and the time until a client has the table, against the CPU time that a process spends
// to parse and validate each object once on one core.
func measureStart(t *testing.T, r *run) {
	s := shape{Routes: r.startRoutes, Hosts: 100}
	for _, kind := range []struct {
		name  string
		write func(testing.TB, string, string, int)
	}{
		{"files", s.write}, {"routes in one file", s.writeOne},
	} {
		what := fmt.Sprintf("%s %s", thousands(s.Routes), kind.name)
		t.Run(what, func(t *testing.T) {
			folder, address := t.TempDir(), envoytest.LoopbackAddress()
			kind.write(t, folder, address, 10_000)
			var cold, cached start
			var floor []time.Duration
			for range r.starts {
				state := t.TempDir()
				floor = append(floor, parseFloor(t, folder, s.Routes))
				cold.add(startOf(t, s, folder, address, state))
				cached.add(startOf(t, s, folder, address, state))
			}
			r.table.add(
				row{Part: "start", Case: what, Measure: "CPU, s", Value: median(cold.cpu) / 1000, Base: median(floor) / 1000, Against: "each parsed and validated once", MaxRatio: 1.3},
				row{Part: "start", Case: what, Measure: "to the first table, s", Value: median(cold.wall) / 1000},
				row{Part: "start", Case: what, Measure: "again, CPU, s", Value: median(cached.cpu) / 1000, Base: median(cold.cpu) / 1000, Against: "without saved state"},
				row{Part: "start", Case: what, Measure: "again, to the first table, s", Value: median(cached.wall) / 1000, Base: median(cold.wall) / 1000, Against: "without saved state", MaxRatio: 0.25},
			)
		})
	}
}

// start is what starts took.
type start struct{ cpu, wall []time.Duration }

func (s *start) add(cpu, wall time.Duration) {
	s.cpu, s.wall = append(s.cpu, cpu), append(s.wall, wall)
}

// startOf starts gatefold, and stops it when it is at rest.
func startOf(t *testing.T, s shape, folder, address, state string) (cpu, wall time.Duration) {
	t.Helper()
	g := serve(t, folder, "--state-dir", state)
	defer g.stop()
	c := connect(t, g.xds, tableName(address+":10000"))
	table := c.next(s.envoyName(s.Routes - 1))
	g.rest()
	return g.cpu(), table.at.Sub(g.began)
}

// parseFloor runs the floor of a start over the folder.
func parseFloor(t *testing.T, folder string, routes int) time.Duration {
	t.Helper()
	out, err := again(t, roleParse, parseJob{folder}).Output()
	if err != nil {
		t.Fatal(err)
	}
	var took time.Duration
	var read int
	if _, err := fmt.Sscan(string(out), &took, &read); err != nil || read != routes {
		t.Fatalf("the floor read %d of %d routes: %v: %s", read, routes, err, out)
	}
	return took
}
