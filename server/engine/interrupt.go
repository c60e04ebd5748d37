package engine

import (
	"context"
	"errors"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/watcher"
)

// Why a run ends before it is done.
var (
	// errOverdue is the end of a run that takes longer than any folder should.
	errOverdue = errors.New("the run is over its deadline")
	// errNewer is the end of a run that a newer state of the folder waits for.
	errNewer = errors.New("the folder has changed again")
)

// The deadlines of a translation are CPU time, so that a busy machine changes nothing.
const (
	// runDeadline is what the translation of any change may take; deadlinePerObject is added
	// for each object that changes. It is some twenty times what an object usually takes.
	runDeadline       = 30 * time.Second
	deadlinePerObject = 2 * time.Millisecond
	// partDeadline is in the place of runDeadline where a change is applied in parts.
	partDeadline = 10 * time.Second
	// yieldAfter is how long a run works before a newer state of the folder interrupts it.
	yieldAfter = 10 * time.Second
	// maxYields is how many runs in a row give way to a newer state of the folder. What each has done
	// is kept, so that the next one continues; but one long rule is begun anew each time.
	maxYields = 3
	// readTurn is how long files are read before those that are read are served without larger ones
	// of other teams. It is no CPU time, as the others wait so long.
	readTurn = 500 * time.Millisecond
	// checkStride is how many checks of a run pass between two looks at the clocks.
	checkStride = 256
)

// interrupt decides whether a translation must end; it is a memo.Stop. Only the goroutine that
// translates uses it. That goroutine is locked to its thread, so that its CPU time can be measured.
type interrupt struct {
	ctx    context.Context
	used   func() time.Duration // CPU time of the thread
	limit  time.Duration
	newer  func() bool // whether to give way to a newer state of the folder
	alive  func()      // called now and then
	begun  time.Duration
	checks int
}

// Err implements memo.Stop.
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

// isEnd reports whether a run ended because gatefold stops.
func isEnd(err error) bool { return errors.Is(err, context.Canceled) }

// arriving notes the newest state of the folder, which waits while a run is in progress.
func (p *pipeline) arriving(tree watcher.Tree) {
	running := p.running.Load()
	p.newer.Store(running != nil && !tree.Same(running))
}

// yields reports whether the run should stop because the folder has a newer state.
func (p *pipeline) yields() bool { return p.newer.Load() && p.yielded < maxYields }

// interrupt returns the memo.Stop of a translation with a limit of CPU time. If yields is true, the
// translation also stops for a newer state of the folder.
func (p *pipeline) interrupt(limit time.Duration, yields bool) memo.Stop {
	newer := p.yields
	if !yields {
		newer = func() bool { return false }
	}
	return &interrupt{ctx: p.ending, used: p.used, limit: limit, newer: newer, alive: p.busy.alive}
}

// turn returns how long the store may read files before it applies those that are read. A first
// load, and a reload that a user waits for, always read the whole folder.
func (p *pipeline) turn() store.Turn {
	if !p.published || len(p.asked) > 0 || p.gate != nil { // a revision is judged as a whole
		return store.Turn{}
	}
	return store.Turn{Length: p.reading, Newer: p.newer.Load}
}

// noteWaiting notes the files that wait until one of them is read completely.
func (p *pipeline) noteWaiting(files []string) {
	if p.waiting = len(files) > 0; p.waiting {
		p.log.Info().Int("files", len(files)).Str("file", files[0]).
			Msg("files that take long to read are served later than the others that changed")
	}
}
