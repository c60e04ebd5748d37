package engine

import (
	"context"
	"errors"
	"time"

	"github.com/gatefold/gatefold/store"
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

// The deadlines of a translation are CPU time, so that they do not depend on how busy the machine is.
const (
	// runDeadline is how much CPU time the translation of a Change may take. deadlinePerObject is added for each
	// object that changes. It is about twenty times what an object usually takes.
	runDeadline       = 30 * time.Second
	deadlinePerObject = 2 * time.Millisecond
	// partDeadline replaces runDeadline if a Change is applied in parts.
	partDeadline = 10 * time.Second
	// yieldAfter is how long a run works before a newer state of the folder can interrupt it.
	yieldAfter = 10 * time.Second
	// maxYields is how many runs in a row a newer state of the folder can interrupt. The next run continues with
	// the results of an interrupted run. Only a rule that was running starts again.
	maxYields = 3
	// readTurn is how long files are read before the files that were read so far are applied. So small files do
	// not wait long for large files of other teams. It is elapsed time, because users wait for that long.
	readTurn = 500 * time.Millisecond
	// checkStride is how many calls of Err pass between two looks at the CPU time.
	checkStride = 256
)

// interrupt is a memo.Stop that decides whether a translation must end. Only the goroutine that translates uses
// it. The goroutine is locked to its thread, so that its CPU time can be measured.
type interrupt struct {
	ctx  context.Context
	used func() time.Duration // returns the CPU time of the thread
	// limit is the CPU time that the translation may take.
	limit time.Duration
	newer func() bool // reports whether to end for a newer state of the folder
	alive func()      // is called from time to time
	// begun is the CPU time at the first check.
	begun  time.Duration
	checks int
}

// Err implements memo.Stop. It returns errOverdue, errNewer, the error of ctx, or nil to continue.
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
	case spent > i.limit:
		return errOverdue
	case spent > yieldAfter && i.newer():
		return errNewer
	}
	return nil
}

// isEnd reports whether err means that gatefold stops.
func isEnd(err error) bool { return errors.Is(err, context.Canceled) }

// arriving records that the folder has a newer state, if a run for an older state is in progress.
func (p *pipeline) arriving(tree watcher.Tree) {
	running := p.running.Load()
	p.newer.Store(running != nil && !tree.Same(running))
}

// yields reports whether the run in progress should end because the folder has a newer state. It returns false
// after maxYields runs in a row ended for that reason.
func (p *pipeline) yields() bool { return p.newer.Load() && p.yielded < maxYields }

// interrupt returns the memo.Stop of a translation with a limit of CPU time. If yields is true, the translation
// also ends for a newer state of the folder.
func (p *pipeline) interrupt(limit time.Duration, yields bool) memo.Stop {
	newer := p.yields
	if !yields {
		newer = func() bool { return false }
	}
	return &interrupt{ctx: p.ending, used: p.used, limit: limit, newer: newer, alive: p.busy.alive}
}

// turn returns how long the store may read files before it applies the files that are read so far. It returns
// the zero Turn, for the whole folder, before the first publication, while a user waits for a reload, and with
// a gate.
func (p *pipeline) turn() store.Turn {
	if !p.published || len(p.asked) > 0 || p.gate != nil { // tests need the whole revision
		return store.Turn{}
	}
	return store.Turn{Length: p.reading, Newer: p.newer.Load}
}

// noteWaiting records and logs whether files wait because one of them takes long to read.
func (p *pipeline) noteWaiting(files []string) {
	if p.waiting = len(files) > 0; p.waiting {
		p.log.Info().Int("files", len(files)).Str("file", files[0]).
			Msg("files that take long to read are served later than the others that changed")
	}
}
