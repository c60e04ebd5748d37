package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/watcher"
)

// The errors of a run that ends before it is done.
var (
	// errOverdue means that the run exceeded its deadline.
	errOverdue = errors.New("the run is over its deadline")
	// errNewer means that the run ended because the folder has a newer state.
	errNewer = errors.New("the folder has changed again")
)

// How long a translation runs is CPU time, so that it does not depend on how busy the machine is.
const (
	// yieldAfter is how long a run works before a newer state of the folder can interrupt it. A shorter time would serve no
	// edit sooner: the next run has to do what the interrupted one left, unless the newer state removes it.
	yieldAfter = 10 * time.Second
	// maxYields is how many runs in a row a newer state of the folder can interrupt. The next run continues with
	// the results of an interrupted run. Only the step of the translator that was running (a rule of package memo)
	// starts again.
	maxYields = 3
	// checkStride is how many calls of Err pass between two looks at the CPU time.
	checkStride = 256
)

// interrupt decides when a translation, or a run of the folder's tests (see gate), ends early. It is a memo.Stop: the
// translation calls its method Err from time to time. Only the goroutine that translates or tests uses it. That
// goroutine is locked to its thread, because the CPU time of the thread is measured.
type interrupt struct {
	ctx  context.Context
	used func() time.Duration // returns the CPU time of the thread
	// limit is the CPU time that it may take; 0 means no limit.
	limit time.Duration
	newer func() bool // reports whether to end for a newer state of the folder
	alive func()      // is called from time to time
	// begun is the CPU time at the first check.
	begun  time.Duration
	checks int
}

// Err implements memo.Stop. It returns errOverdue if the translation has used too much CPU time, errNewer if it
// should end for a newer state of the folder, the error of ctx, or nil to continue.
func (i *interrupt) Err() error {
	if err := i.ctx.Err(); err != nil {
		return err
	}
	if i.checks++; i.checks%checkStride != 1 {
		return nil
	}
	i.alive()
	used := i.used()
	if i.checks == 1 {
		i.begun = used
	}
	switch spent := used - i.begun; {
	case i.limit > 0 && spent > i.limit:
		return errOverdue
	case spent > yieldAfter && i.newer():
		return errNewer
	}
	return nil
}

// isEnd reports whether err means that gatefold stops.
func isEnd(err error) bool { return errors.Is(err, context.Canceled) }

// yielding decides when a run (the work on one state of the folder) ends early, because the folder already has a
// newer state. Each pipeline has one yielding.
type yielding struct {
	ending context.Context //nolint:containedctx // ends when gatefold stops; then the run in progress ends early
	// used returns the CPU time of the current thread.
	used  func() time.Duration
	alive func() // is called from time to time during a translation

	running atomic.Pointer[watcher.Tree] // the Tree of the run in progress; nil if none is in progress
	newer   atomic.Bool                  // the folder has a newer Tree than that in the field running
	yielded int                          // how many runs in a row ended for a newer Tree
}

// newYielding returns the value that decides when the runs of a pipeline end early. A run in progress also ends early
// when ctx ends. A translation calls the function alive from time to time, to show that it makes progress.
func newYielding(ctx context.Context, alive func()) *yielding {
	return &yielding{ending: ctx, used: watcher.ThreadTime, alive: alive}
}

// begin records that a run for this Tree (a state of the folder) starts. The caller calls the returned function
// when the run has ended.
func (y *yielding) begin(tree *watcher.Tree) (end func()) {
	y.running.Store(tree)
	y.newer.Store(false)
	return func() { y.running.Store(nil) }
}

// arriving is called when the folder has a new state. If a run for an older state is in progress, this run may
// end early from now on (see yields).
func (y *yielding) arriving(tree watcher.Tree) {
	running := y.running.Load()
	y.newer.Store(running != nil && !tree.Same(running))
}

// yields reports whether the run in progress should end early because the folder has a newer state. After
// maxYields runs in a row have ended early, it returns false, so that the next run is completed.
func (y *yielding) yields() bool { return y.newer.Load() && y.yielded < maxYields }

// interrupt returns the memo.Stop of a translation, or of tests with a limit of CPU time.
func (y *yielding) interrupt(limit time.Duration) memo.Stop {
	return &interrupt{ctx: y.ending, used: y.used, limit: limit, newer: y.yields, alive: y.alive}
}

// never is what tells a reading of the folder that no newer state of it waits.
func never() bool { return false }
