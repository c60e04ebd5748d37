package watcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A script is a list of steps; each happens ms milliseconds after the start.
type settleStep struct {
	ms     int
	change []change
	lock   string // "on", "off" or nothing
	force  bool
	want   verdict
	next   int // ms at which to ask again; 0 is not checked
	alarm  bool
	// unfinished is true if a.yaml is taken as it was.
	unfinished bool
}

func TestSettle(t *testing.T) {
	one := func(k kind) []change { return []change{{"a.yaml", k}} }
	other := func(k kind) []change { return []change{{"b.yaml", k}} }
	scripts := map[string][]settleStep{
		"nothing is due when nothing changed": {
			{ms: 0, want: wait}, {ms: 60_000, want: wait},
		},
		"one file replaced by a rename waits 20 ms": {
			{ms: 0, change: one(replaced), want: wait, next: 20},
			{ms: 19, want: wait}, {ms: 20, want: quiet}, {ms: 21, want: wait},
		},
		"one file replaced twice is still one rename": {
			{ms: 0, change: one(replaced)}, {ms: 10, change: one(replaced), want: wait, next: 30},
			{ms: 30, want: quiet},
		},
		"a file written in place waits 100 ms from the last write": {
			{ms: 0, change: one(written), want: wait, next: 100},
			{ms: 90, change: one(written), want: wait, next: 190},
			{ms: 189, want: wait}, {ms: 190, want: quiet},
		},
		"a replaced file that is then written to waits 100 ms": {
			{ms: 0, change: one(replaced)}, {ms: 5, change: one(written), want: wait, next: 105},
		},
		"a new file may still be written": {
			{ms: 0, change: one(added), want: wait, next: 100},
		},
		"a second path ends the short wait": {
			{ms: 0, change: one(replaced), want: wait, next: 20},
			{ms: 10, change: []change{{"b.yaml", replaced}}, want: wait, next: 110},
			{ms: 110, want: quiet},
		},
		"a temporary file that came and went does not": {
			{ms: 0, change: []change{{"tmp.yaml", added}}},
			{ms: 5, change: []change{{"tmp.yaml", removed}, {"a.yaml", replaced}}, want: wait, next: 25},
		},
		"a name that vanishes for a moment is a write": {
			{ms: 0, change: one(removed), want: wait, next: 100},
			{ms: 10, change: one(added), want: wait, next: 110},
			{ms: 110, want: quiet},
		},
		"additions wait at most 1 s while others come, then start anew": {
			{ms: 0, change: one(written)}, {ms: 950, change: other(written), want: wait, next: 1000},
			{ms: 1000, want: additions}, {ms: 1010, change: other(written), want: wait, next: 1110},
		},
		"a file that is being written waits for its own rest": {
			{ms: 0, change: one(written)}, {ms: 950, change: one(written), want: wait, next: 1050},
			{ms: 1000, change: other(replaced), want: wait, next: 1050},
			{ms: 1040, change: one(written), want: wait, next: 1140},
			{ms: 1140, want: quiet},
		},
		"while one file is being written the others are loaded": {
			{ms: 0, change: one(added)}, {ms: 50, change: other(replaced)}, {ms: 1000, change: one(written)},
			{ms: 1050, want: additions, unfinished: true}, {ms: 1090, change: one(written), want: wait, next: 1190},
			{ms: 1190, want: quiet},
		},
		"a file that is written for ever is loaded after 10 s": {
			{ms: 0, change: one(written)}, {ms: 9950, change: one(written), want: wait, next: 10_000},
			{ms: 10_000, want: additions}, {ms: 10_001, want: wait},
		},
		"a name that comes and goes is not removed in between": {
			{ms: 0, change: one(removed)}, {ms: 50, change: one(added)}, {ms: 9980, change: one(removed), want: wait, next: 10_080},
			{ms: 10_000, change: one(added), want: additions},
		},
		"removals go on waiting when additions are due, at most 10 s": {
			{ms: 0, change: []change{{"gone.yaml", removed}}},
			{ms: 90, change: one(replaced)},
			{ms: 1000, change: other(replaced)}, {ms: 1090, want: additions},
			{ms: 1095, change: other(replaced)}, {ms: 1180, change: other(replaced)},
			{ms: 9990, change: other(replaced), want: additions},
			{ms: 9992, change: other(replaced), want: wait, next: 10_000},
			{ms: 10_000, want: everything}, {ms: 20_000, want: wait},
		},
		"what is read once more for safety does not lengthen the wait of a rename": {
			{ms: 0, change: one(replaced)}, {ms: 5, change: one(reread), want: wait, next: 25},
		},
		"git's lock holds everything until it goes": {
			{ms: 0, lock: "on", change: one(replaced), want: wait, next: 50},
			{ms: 5000, lock: "on", want: wait, next: 5050},
			{ms: 5050, lock: "off", want: quiet},
		},
		"what git wrote last comes with the rest, however long it took": {
			{ms: 0, lock: "on", change: one(swapped), want: wait}, {ms: 4980, change: other(swapped), want: wait},
			{ms: 5000, lock: "off", want: wait, next: 5080}, {ms: 5080, want: quiet},
		},
		"locks that come and go delay a noisy folder by 30 s at most": {
			{ms: 0, change: one(replaced)}, {ms: 29_940, lock: "on", change: other(written)},
			{ms: 29_950, lock: "off", change: other(written), want: wait}, {ms: 30_949, change: other(written), want: wait},
			{ms: 30_950, change: other(written), want: additions},
		},
		"git's lock is ignored after 30 s, with one alarm": {
			{ms: 0, lock: "on", change: one(written), want: wait},
			{ms: 29_999, lock: "on", want: wait},
			{ms: 30_000, lock: "on", want: quiet, alarm: true},
			{ms: 30_001, lock: "on", change: one(written), want: wait, next: 30_101},
			{ms: 30_101, lock: "on", want: quiet},
			{ms: 30_102, lock: "off"}, {ms: 30_103, lock: "on", change: one(written), want: wait, next: 30_153},
		},
		"a forced look does not wait for quiet, but for the lock": {
			{ms: 0, change: one(written), force: true, want: quiet}, {ms: 1, want: wait},
			{ms: 2, lock: "on", force: true, want: wait}, {ms: 3, lock: "off", want: quiet},
		},
	}
	for name, steps := range scripts {
		t.Run(name, func(t *testing.T) { runSettle(t, steps) })
	}
}

func runSettle(t *testing.T, steps []settleStep) {
	t0 := time.Unix(1_000_000, 0)
	s := newSettle(Options{}.withDefaults())
	for i, step := range steps {
		now := t0.Add(time.Duration(step.ms) * time.Millisecond)
		s.note(now, step.change...)
		if step.lock != "" {
			if alarm := s.lock(now, step.lock == "on"); alarm != step.alarm {
				t.Errorf("step %d: alarm = %v", i, alarm)
			}
		}
		if step.force {
			s.force()
		}
		v, next := s.due(now)
		if v != step.want {
			t.Fatalf("step %d at %d ms: verdict %d, want %d", i, step.ms, v, step.want)
		}
		if got := int(next.Sub(t0).Milliseconds()); step.next != 0 && got != step.next {
			t.Errorf("step %d at %d ms: ask again at %d, want %d", i, step.ms, got, step.next)
		}
		if v != wait && v != quiet && s.unfinished(now, "a.yaml") != step.unfinished {
			t.Errorf("step %d at %d ms: unfinished = %v", i, step.ms, !step.unfinished)
		}
		if v != wait {
			s.done(v, now)
		}
	}
}

// A folder that was emptied comes back as a whole, after a second of quiet.
func TestSettleRefilling(t *testing.T) {
	t0 := time.Unix(1_000_000, 0)
	s := newSettle(Options{}.withDefaults())
	load := func(files int) { s.done(quiet, t0); s.given(files) }
	load(0)
	s.note(t0, change{"a", added})
	if _, next := s.due(t0); next.Sub(t0) != 100*time.Millisecond {
		t.Errorf("a folder that is filled for the first time: ask again after %s", next.Sub(t0))
	}
	load(1)
	load(0)
	for ms := 0; ms < 10_000; ms += 900 {
		now := t0.Add(time.Duration(ms) * time.Millisecond)
		s.note(now, change{fmt.Sprint("file", ms), added})
		if v, next := s.due(now); v != wait || next.After(now.Add(time.Second)) {
			t.Fatalf("at %d ms: verdict %d, ask again after %s", ms, v, next.Sub(now))
		}
	}
	if v, _ := s.due(t0.Add(10 * time.Second)); v != additions {
		t.Errorf("verdict %d after 10 s", v)
	}
	load(1)
	s.note(t0, change{"a", written})
	if _, next := s.due(t0); next.Sub(t0) != 100*time.Millisecond {
		t.Errorf("when it is back: ask again after %s", next.Sub(t0))
	}
}

// A folder that had files before the start, and is empty at the start, comes back as a whole, too.
func TestSettleRefillingAfterAStart(t *testing.T) {
	t0 := time.Unix(1_000_000, 0)
	s := newSettle(Options{Filled: true}.withDefaults())
	s.done(quiet, t0)
	s.given(0)
	s.note(t0, change{"a", added})
	if _, next := s.due(t0); next.Sub(t0) != time.Second {
		t.Errorf("ask again after %s", next.Sub(t0))
	}
}

func TestSettleNoticed(t *testing.T) {
	t0 := time.Unix(1_000_000, 0)
	s := newSettle(Options{}.withDefaults())
	s.note(t0, change{"a", removed})
	s.note(t0.Add(time.Second), change{"b", written})
	if got := s.noticed(t0.Add(time.Hour)); !got.Equal(t0) {
		t.Errorf("noticed %v, want the first change", got)
	}
	s.verdicts[""] = additions
	s.done(additions, t0.Add(time.Hour))
	if got := s.noticed(t0.Add(time.Hour)); !got.Equal(t0) {
		t.Errorf("noticed %v, want the removal that is still pending", got)
	}
	s.verdicts[""] = everything
	s.done(everything, t0.Add(time.Hour))
	if now := t0.Add(time.Hour); !s.noticed(now).Equal(now) {
		t.Error("a change outlived its Tree")
	}
}

// unitStep is one step of TestSettleUnits. Each happens ms milliseconds after the start.
type unitStep struct {
	ms     int
	change []change
	want   verdict
	next   int // ms at which to ask again; 0 is not checked
	// loads are the paths that are pending and loaded; a path that vanished is loaded when it disappears.
	loads string
}

// noise is a change of one file of a unit every 20 ms, from one time to another.
func noise(path string, from, to int) (steps []unitStep) {
	for ms := from; ms < to; ms += 20 {
		steps = append(steps, unitStep{ms: ms, change: []change{{path, written}}, want: wait})
	}
	return steps
}

// TestSettleUnits: files of one unit wait for each other, and for those of other units not as long. The unit of a path
// is its first directory.
func TestSettleUnits(t *testing.T) {
	for name, steps := range map[string][]unitStep{
		"a folder at rest is loaded as a whole": {
			{ms: 0, change: []change{{"a/x", written}, {"b/x", removed}}, want: wait, next: 100}, {ms: 100, want: quiet, loads: "a/x b/x"},
		},
		"the noise of one unit delays edits of others by 1 s, and removals by 4 s": slices.Concat(
			[]unitStep{{ms: 0, change: []change{{"a/new", added}, {"b/edit", written}, {"b/swap", replaced}, {"b/gone", removed}}, want: wait}},
			noise("a/x", 10, 1000), []unitStep{{ms: 1000, want: additions, loads: "b/edit b/swap"}},
			noise("a/x", 1010, 4000), []unitStep{{ms: 4000, want: everything, loads: "b/gone"}},
			noise("a/x", 4010, 10_000), []unitStep{{ms: 10_000, want: additions, loads: "a/new"}, {ms: 10_010, want: additions, loads: "a/x"}},
		),
		"a slow copy is loaded as a whole": slices.Concat(
			[]unitStep{{ms: 0, change: []change{{"a/route", added}, {"a/gone", removed}}, want: wait}},
			noise("a/x", 10, 3000), []unitStep{{ms: 3000, change: []change{{"a/policy", added}}, want: wait, next: 3100}, {ms: 3100, want: quiet, loads: "a/gone a/policy a/route a/x"}},
		),
		"and so it is beside the noise of another unit": slices.Concat(
			[]unitStep{{ms: 0, change: []change{{"b/route", added}, {"b/gone", removed}}, want: wait}, {ms: 5, change: []change{{"a/x", written}}, want: wait}},
			noise("b/x", 10, 990), []unitStep{{ms: 1000, change: []change{{"b/policy", replaced}, {"a/x", written}}, want: wait, next: 1100}},
			[]unitStep{{ms: 1090, change: []change{{"a/x", written}}, want: wait, next: 1100}, {ms: 1100, want: additions, loads: "b/policy b/route b/x"}},
			noise("a/x", 1110, 4000), []unitStep{{ms: 4000, want: everything, loads: "b/gone"}},
		),
		"a removal waits for its own unit": slices.Concat(
			[]unitStep{{ms: 0, change: []change{{"a/gone", removed}}, want: wait}},
			noise("a/x", 10, 9990), []unitStep{{ms: 10_000, want: everything, loads: "a/gone"}},
		),
	} {
		t.Run(name, func(t *testing.T) { runUnits(t, steps) })
	}
}

func runUnits(t *testing.T, steps []unitStep) {
	t0 := time.Unix(1_000_000, 0)
	s := newSettle(Options{Unit: func(path string) string { unit, _, _ := strings.Cut(path, "/"); return unit }}.withDefaults())
	for _, step := range steps {
		now := t0.Add(time.Duration(step.ms) * time.Millisecond)
		s.note(now, step.change...)
		v, next := s.due(now)
		if got := int(next.Sub(t0).Milliseconds()); v != step.want || step.next != 0 && got != step.next {
			t.Fatalf("at %d ms: verdict %d, ask again at %d; want %d, %d", step.ms, v, got, step.want, step.next)
		}
		if v == wait {
			continue
		}
		var loads []string
		for path, p := range s.pending {
			if v == quiet || p.kind == removed && !s.keeps(path) || p.kind != removed && !s.waits(now, path) {
				loads = append(loads, path)
			}
		}
		slices.Sort(loads)
		if got := strings.Join(loads, " "); got != step.loads {
			t.Errorf("at %d ms: loaded %q, want %q", step.ms, got, step.loads)
		}
		s.done(v, now)
		for _, path := range loads {
			if _, pending := s.pending[path]; pending {
				t.Errorf("at %d ms: %s is pending still", step.ms, path)
			}
		}
	}
}
