package engine

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/admin"
)

const (
	// stuckAfter is the time after which a step without progress counts as stuck. Then the service manager gets no
	// more watchdog messages, and restarts gatefold.
	stuckAfter = time.Minute
	// busyLook is how often the duration of the running step is checked.
	busyLook = time.Second
)

// busy records which step of a run is in progress (such as "store" or "translate"), when that step began, and since
// when a change waits to be applied. Any goroutine may use it.
type busy struct {
	now func() time.Time
	log zerolog.Logger

	mu      sync.Mutex
	step    string    // "" between two runs
	begun   time.Time // when the step began
	behind  time.Time // since when the oldest change waits to be applied; zero if no change waits
	sign    time.Time // when the step last made progress
	alarmed bool      // an ALARM about the step was logged
}

// newBusy returns the initial value of the type busy: no step is running. The parameter now is a function that
// returns the current time.
func newBusy(now func() time.Time, log zerolog.Logger) *busy { return &busy{now: now, log: log} }

// begin records that a step of a run (such as "store" or "translate") begins, and that the previous step has
// ended.
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

// end records that a run ended. The parameter done is true if no change waits to be applied. If done is false, the
// waiting time of the oldest change (see state) continues in the next run.
func (b *busy) end(done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calm(b.now())
	if b.step = ""; done {
		b.behind = time.Time{}
	}
}

// calm is called when a step has ended. If the method look logged an ALARM about this step, calm logs that the
// step has ended.
func (b *busy) calm(now time.Time) {
	if b.alarmed {
		b.log.Info().Str("step", b.step).Float64("seconds", now.Sub(b.begun).Seconds()).Msg("the long step has ended")
	}
	b.alarmed = false
}

// alive is called while the running step makes progress. After each call, the method stuck returns false until the
// time stuckAfter has passed.
func (b *busy) alive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sign = b.now()
}

// state returns the running step, how long this step has taken, and how long the oldest change that is not
// applied has waited (admin.Busy). Between two runs, the result is zero.
func (b *busy) state() admin.Busy {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.step == "" {
		return admin.Busy{}
	}
	now := b.now()
	return admin.Busy{Step: b.step, Took: now.Sub(b.begun), Behind: now.Sub(b.behind)}
}

// stuck reports whether the running step has made no progress for stuckAfter.
func (b *busy) stuck() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.step != "" && b.now().Sub(b.sign) >= stuckAfter
}

// look logs an ALARM if the running step has taken admin.BusyAlarm or longer. It logs once for each step.
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

// watch calls the method look once in each busyLook, until ctx ends.
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
