package engine

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/admin"
)

const (
	// stuckAfter is the time without a sign of life after which the service manager hears no
	// more of gatefold, and restarts it.
	stuckAfter = time.Minute
	// busyLook is the time between two looks at how long a step takes.
	busyLook = time.Second
)

// busy tracks the step that the pipeline is in. Any goroutine may ask.
type busy struct {
	now func() time.Time
	log zerolog.Logger

	mu      sync.Mutex
	step    string    // "" between two runs
	begun   time.Time // of the step
	behind  time.Time // since when the folder's newest state waits to be applied; zero: it does not
	sign    time.Time // the last sign of life
	alarmed bool      // the log has an ALARM about the step
}

func newBusy(now func() time.Time, log zerolog.Logger) *busy { return &busy{now: now, log: log} }

// begin notes that a step begins.
func (b *busy) begin(step string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.calm(now)
	b.step, b.begun, b.sign = step, now, now
	if b.behind.IsZero() {
		b.behind = now
	}
}

// end notes that a run ended. done is true if nothing is left to be applied.
func (b *busy) end(done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calm(b.now())
	if b.step = ""; done {
		b.behind = time.Time{}
	}
}

// calm logs the end of a step that an ALARM was logged about.
func (b *busy) calm(now time.Time) {
	if b.alarmed {
		b.log.Info().Str("step", b.step).Float64("seconds", now.Sub(b.begun).Seconds()).Msg("the long step has ended")
	}
	b.alarmed = false
}

// alive notes that the step makes progress.
func (b *busy) alive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sign = b.now()
}

// state returns the step and how long it has taken.
func (b *busy) state() admin.Busy {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.step == "" {
		return admin.Busy{}
	}
	now := b.now()
	return admin.Busy{Step: b.step, Took: now.Sub(b.begun), Behind: now.Sub(b.behind)}
}

// stuck reports whether a step has made no progress for too long.
func (b *busy) stuck() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.step != "" && b.now().Sub(b.sign) >= stuckAfter
}

// look logs an ALARM, once for each step that takes too long.
func (b *busy) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := b.now().Sub(b.begun)
	if b.step == "" || b.alarmed || took < admin.BusyAlarm {
		return
	}
	b.alarmed = true
	b.log.Error().Str("step", b.step).Float64("seconds", took.Seconds()).
		Msg("ALARM: gatefold is busy with one step: it still serves what it served before, and later edits may wait until the step has ended")
}

// watch calls look at intervals until ctx ends.
func (b *busy) watch(ctx context.Context) {
	ticker := time.NewTicker(busyLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.look()
		case <-ctx.Done():
			return
		}
	}
}
