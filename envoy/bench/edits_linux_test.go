package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// quiet is how long gatefold waits for more when one file was renamed into place. It is
// a promise to editors, and no work: it is taken off.
const quiet = 20 * time.Millisecond

// measureEdits takes the time from the rename of a file to the arrival of the table at a
// client, and the CPU time of the process, of gatefold and of the floor in turn.
func measureEdits(t *testing.T, r *run) {
	growth := map[int]float64{}
	for _, routes := range r.edits {
		shapes := []shape{{Routes: routes, Hosts: 1}, {Routes: routes, Hosts: min(100, routes/10)}, {Routes: routes, Hosts: 1, Delegated: true}}
		if routes == 10_000 {
			shapes = append(shapes, shape{Routes: routes, Hosts: routes})
		}
		for _, s := range shapes {
			t.Run(s.String(), func(t *testing.T) {
				took := editsOf(t, s, r.editCount)
				r.table.add(took.rows(s)...)
				if s.Hosts == min(100, routes/10) {
					growth[routes] = took.gatefold.wall()
				}
			})
		}
	}
	least, most := r.edits[0], r.edits[len(r.edits)-1]
	if len(growth) == len(r.edits) && most > least {
		row := row{Part: "edit", Case: fmt.Sprintf("from %s to %s routes on 100 hosts", thousands(least), thousands(most)), Measure: "growth of the median, ms",
			Value: growth[most], Base: growth[least], Against: thousands(least) + " routes"}
		if most == 100_000 {
			row.MaxRatio = 5
		}
		r.table.add(row)
	}
}

// spent is what edits took.
type spent struct {
	took, cpu []time.Duration
	bytes     int
}

func (s *spent) wall() float64 { return median(s.took) }

// comparison is what edits took of both.
type comparison struct{ gatefold, floor spent }

func (c *comparison) rows(s shape) []row {
	against := "floor"
	return []row{
		{Part: "edit", Case: s.String(), Measure: "rename to client, median, ms", Value: c.gatefold.wall(), Base: c.floor.wall(), Against: against, MaxRatio: 2},
		{Part: "edit", Case: s.String(), Measure: "CPU, median, ms", Value: median(c.gatefold.cpu), Base: median(c.floor.cpu), Against: against, MaxRatio: 2},
		{Part: "edit", Case: s.String(), Measure: "CPU, mean, ms", Value: mean(c.gatefold.cpu), Base: mean(c.floor.cpu), Against: against},
		{Part: "edit", Case: s.String(), Measure: "sent, KB", Value: float64(c.gatefold.bytes) / 1000, Base: float64(c.floor.bytes) / 1000, Against: against},
	}
}

// editsOf edits routes of the shape, each time another one, here and there in turn.
func editsOf(t *testing.T, s shape, count int) *comparison {
	folder, address, port := t.TempDir(), envoytest.LoopbackAddress(), 10_000
	s.write(t, folder, address, port)
	g, f := serve(t, folder, "--state-dir", t.TempDir()), startFloor(t, s)
	name := tableName(fmt.Sprint(address, ":", port))
	ours, theirs := connect(t, g.xds, name), connect(t, f.Address, name)
	last := s.envoyName(s.Routes - 1)
	ours.next(last)
	theirs.next(last)
	g.rest()
	f.rest()
	c := &comparison{}
	const warmUp = 3
	for i := range warmUp + count {
		route, revision := (i*7919+s.Routes/2)%s.Routes, 10_000_000+i
		text, marker := s.route(route, revision), fmt.Sprint(revision)
		mine := oneEdit(g.process, ours, marker, func() time.Time { return g.edit(s.file(route), text).Add(quiet) })
		other := oneEdit(f.process, theirs, marker, func() time.Time { return f.edit(s.file(route), text) })
		if i >= warmUp {
			c.gatefold.add(mine)
			c.floor.add(other)
		}
	}
	if ratio := float64(c.gatefold.bytes) / float64(c.floor.bytes); ratio < 0.8 || ratio > 1.25 {
		t.Errorf("gatefold sends %d bytes and the floor %d: they are not compared at the same work", c.gatefold.bytes, c.floor.bytes)
	}
	progress("edit, %v: gatefold %.2f ms, floor %.2f ms", s, c.gatefold.wall(), c.floor.wall())
	return c
}

func (s *spent) add(one spent) {
	s.took, s.cpu, s.bytes = append(s.took, one.took...), append(s.cpu, one.cpu...), one.bytes
}

// afterwards is how long a process is watched after the table has arrived: what it does
// behind the edit is part of its cost.
const afterwards = 30 * time.Millisecond

// oneEdit edits, waits for the table with the marker, and tells what it took.
func oneEdit(p *process, c *client, marker string, edit func() time.Time) spent {
	before := p.cpu()
	began := edit()
	table := c.next(marker)
	time.Sleep(afterwards)
	return spent{[]time.Duration{table.at.Sub(began)}, []time.Duration{p.cpu() - before}, table.size}
}
