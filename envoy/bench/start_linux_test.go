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
	for _, routes := range r.startRoutes {
		s := shape{Routes: routes, Hosts: 100}
		measureStartOf(t, r, s, fmt.Sprintf("%s files", thousands(routes)), s.write)
		if routes <= documentsInAFile {
			measureStartOf(t, r, s, fmt.Sprintf("%s routes in one file", thousands(routes)), s.writeOne)
		}
	}
}

// documentsInAFile is how many gatefold takes by default.
const documentsInAFile = 20_000

func measureStartOf(t *testing.T, r *run, s shape, what string, write func(testing.TB, string, string, int)) {
	t.Run(what, func(t *testing.T) {
		folder, address := t.TempDir(), envoytest.LoopbackAddress()
		write(t, folder, address, 10_000)
		var cold, again start
		var floor []time.Duration
		for i := range r.starts {
			if i > 0 && s.Routes > documentsInAFile {
				break // one tells enough
			}
			state := t.TempDir()
			floor = append(floor, parseFloor(t, folder, s.Routes))
			cold.add(startOf(t, s, folder, address, state))
			again.add(startOf(t, s, folder, address, state))
		}
		const without = "without saved state"
		add := func(measure string, value, base []time.Duration, against string, goal float64) {
			one := row{Part: "start", Case: what, Measure: measure, Value: median(value) / 1000, Against: against, MaxRatio: goal}
			if against != "" {
				one.Base = median(base) / 1000
			}
			r.table.add(one)
		}
		add("CPU, s", cold.cpu, floor, "each parsed and validated once", 1.3)
		add("to the first table, s", cold.wall, nil, "", 0)
		add("again, CPU, s", again.cpu, cold.cpu, without, 0)
		add("again, to the first table, s", again.wall, cold.wall, without, 0.25)
	})
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
