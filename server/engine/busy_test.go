package engine

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/admin"
)

// A step that takes long is logged once, with its name, and once when it has ended. A run that
// gives way to a newer state of the folder leaves gatefold behind the folder.
func TestALongStepIsTold(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	b := newBusy(func() time.Time { return now }, zerolog.New(&log))
	alarms := func() int { return strings.Count(log.String(), "ALARM") }
	b.look()
	b.begin("store")
	now = now.Add(9 * time.Second)
	b.look()
	b.begin("translate")
	now = now.Add(9 * time.Second)
	b.look()
	if alarms() != 0 {
		t.Errorf("an alarm too early: %s", &log)
	}
	now = now.Add(time.Second)
	b.look()
	b.look()
	if alarms() != 1 || !strings.Contains(log.String(), `"step":"translate","seconds":10`) {
		t.Errorf("want one alarm: %s", &log)
	}
	if got, want := b.state(), (admin.Busy{Step: "translate", Took: 10 * time.Second, Behind: 19 * time.Second}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	b.end(false) // interrupted
	if !strings.Contains(log.String(), "has ended") || b.state() != (admin.Busy{}) {
		t.Errorf("%+v: %s", b.state(), &log)
	}
	b.begin("store")
	if got := b.state().Behind; got != 19*time.Second {
		t.Errorf("behind %s, want 19 s", got)
	}
	b.end(true)
	b.begin("store")
	if got := b.state().Behind; got != 0 {
		t.Errorf("behind %s after all was applied", got)
	}
}

// The service manager hears nothing while a step shows no sign of life, however long one
// that does takes.
func TestAStuckStep(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBusy(func() time.Time { return now }, zerolog.Nop())
	if now = now.Add(time.Hour); b.stuck() {
		t.Error("stuck between two runs")
	}
	b.begin("translate")
	for range 10 {
		now = now.Add(stuckAfter - 1)
		if b.stuck() {
			t.Error("stuck, in spite of signs of life")
		}
		b.alive()
	}
	if now = now.Add(stuckAfter); !b.stuck() {
		t.Error("not stuck")
	}
	b.begin("publish")
	if b.stuck() {
		t.Error("stuck, though another step has begun")
	}
}

// The steps that are told are those that the metric knows.
func TestStepsHaveTheNamesOfTheMetric(t *testing.T) {
	p, _, _ := newGated(t)
	var steps []string
	p.busy.now = func() time.Time {
		if step := p.busy.step; step != "" && !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
		return time.Time{}
	}
	p.reload(teamsTree(gatedFolder("first")))
	if got, want := strings.Join(steps, " "), strings.Join(admin.BusySteps(), " "); got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
}
