package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// measureStart takes the CPU time that gatefold needs from its start until it is at rest,
// and the time until a client has the table, against the CPU time that a process spends
// to read, hash and parse each file once on one core.
func measureStart(t *testing.T, r *run) {
	for _, routes := range r.startRoutes {
		s := shape{Routes: routes, Hosts: 100}
		measureStartOf(t, r, s, folderOf{fmt.Sprintf("%s files", thousands(routes)), s.write, 4})
		if routes <= documentsInAFile {
			measureStartOf(t, r, s, folderOf{fmt.Sprintf("%s routes in one file", thousands(routes)), s.writeOne, 7})
		}
	}
}

// documentsInAFile is how many gatefold takes by default.
const documentsInAFile = 20_000

// folderOf is a folder that is served at a start.
type folderOf struct {
	what  string
	write func(testing.TB, string, string, int)
	goal  float64 // how often the CPU time of the floor a start may take; the floor of one file opens no others
}

func measureStartOf(t *testing.T, r *run, s shape, of folderOf) {
	t.Run(of.what, func(t *testing.T) {
		folder, address := t.TempDir(), envoytest.LoopbackAddress()
		of.write(t, folder, address, 10_000)
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
			one := row{Part: "start", Case: of.what, Measure: measure, Value: median(value) / 1000, Against: against, MaxRatio: goal}
			if against != "" {
				one.Base = median(base) / 1000
			}
			r.table.add(one)
		}
		add("CPU, s", cold.cpu, floor, "each file read, hashed and parsed once", of.goal)
		add("to the first table, s", cold.wall, nil, "", 0)
		add("again, CPU, s", again.cpu, cold.cpu, without, 0)
		add("again, to the first table, s", again.wall, cold.wall, without, 0.75) // it reads and checks nothing, and translates everything
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
