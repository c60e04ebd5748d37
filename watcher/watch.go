package watcher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// restFactor times the CPU time of the last full scan is the rest before
	// the next one, so that scans cost at most a hundredth of one core.
	restFactor = 100
	// missingLog is the time between two lines about a missing root.
	missingLog = time.Minute
	// staleWait is the time before looking again at what vanished underfoot.
	staleWait = 10 * time.Millisecond
)

// Watch calls fn with the Tree of opt.Root at once, and again whenever the
// folder has come to another content and to rest (design section 3). One call
// runs at a time; while it runs Watch goes on reading and keeps only the
// newest Tree. A root that is not there gives Tree{Missing: true} and is
// waited for.
//
// Watch returns nil when ctx has ended and the last call returned, and an
// error only when opt.Root can not be watched in any way.
func Watch(ctx context.Context, opt Options, log zerolog.Logger, fn func(Tree)) error {
	if opt.Root == "" {
		return errors.New("no folder to watch")
	}
	if _, err := filepath.Abs(opt.Root); err != nil {
		return err
	}
	opt = opt.withDefaults()
	w := newWatch(opt, log)
	var others sync.WaitGroup
	others.Go(w.events.drain)
	others.Go(func() { w.out.deliver(ctx, fn) })
	w.run(ctx)
	w.events.close()
	others.Wait()
	return nil
}

// watch is the state of one Watch; its goroutine owns it.
type watch struct {
	opt    Options
	log    zerolog.Logger
	reader *reader
	settle *settle
	events *events
	out    mailbox

	stale     bool          // the next look is at everything
	restless  time.Time     // when a Tree was first given up because the folder moved
	unseen    bool          // the last changes were found without an event
	nextScan  time.Time     // when everything is looked at without a hint
	nextLog   time.Time     // when a missing root is logged again
	busy      time.Duration // listing and reading since the last Tree
	lookAgain time.Time     // hints wait until then, so that a storm leaves time
}

func newWatch(opt Options, log zerolog.Logger) *watch {
	w := &watch{
		opt:    opt,
		log:    log,
		reader: newReader(opt),
		settle: newSettle(opt),
		events: newEvents(opt.Poll, log),
		out:    make(mailbox, 1),
	}
	w.settle.force() // the first Tree comes at once
	w.reader.enter = func(dir string, id identity) {
		w.events.enter(filepath.Join(w.reader.at.path, dir), id)
	}
	return w
}

// run looks at the folder at every hint, timer and request until ctx ends.
func (w *watch) run(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	force, rescan := false, w.opt.Rescan
	for {
		next := w.pass(force)
		wait.Reset(time.Until(next))
		force = false
		select {
		case <-ctx.Done():
			return
		case <-w.events.wake:
			if !sleep(ctx, time.Until(w.lookAgain)) {
				return
			}
		case _, ok := <-rescan:
			if force = ok; !ok {
				rescan = nil // a closed channel asks no more
			}
		case <-wait.C:
		}
	}
}

// sleep waits for d; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// pass looks where the hints point, or everywhere when that is due, gives a
// Tree when the folder has come to rest, and returns when to pass again.
func (w *watch) pass(force bool) time.Time {
	start := time.Now()
	h := w.events.take()
	hinted := h.any()
	full := force || h.full || w.stale || !start.Before(w.nextScan)
	if !hinted && !full && w.settle.idle() {
		return w.nextScan // an event that names nothing of ours
	}
	if w.settle.idle() {
		w.busy = 0 // earlier looks found nothing
	}
	root, at, err := w.open()
	if root != nil {
		defer root.Close()
	}
	var changes []change
	if err == nil {
		changes = w.look(root, at, full, h.dirs)
	} else {
		changes = w.lack(start, err)
	}
	if len(changes) > 0 {
		w.unseen = !hinted
	}
	w.settle.note(start, changes...)
	w.lock(start, root)
	if force {
		w.settle.force()
	}
	w.busy += time.Since(start)
	if hinted || w.stale {
		w.lookAgain = time.Now().Add(time.Since(start))
	}
	return w.decide(root, at, full)
}

// open opens the root, and watches the way to it first.
func (w *watch) open() (*os.Root, place, error) {
	for {
		root, at, err := openRoot(w.opt.Root)
		if !w.events.follow(at.via) {
			return root, at, err
		}
		if root != nil {
			root.Close()
		}
	}
}

// look compares the folder with what is known, everywhere or in dirs.
func (w *watch) look(root *os.Root, at place, full bool, dirs map[identity]bool) []change {
	if !full && w.reader.top != nil && at.same(w.reader.at) {
		changes, stale, err := w.reader.look(root, at, dirs)
		w.stale = stale || err != nil
		return changes
	}
	runtime.LockOSThread() // the thread's clock is read
	defer runtime.UnlockOSThread()
	cpu := threadTime()
	w.events.begin()
	changes, stale, err := w.reader.look(root, at, nil)
	w.events.end()
	if err != nil {
		return append(changes, w.lack(time.Now(), err)...)
	}
	w.stale, w.nextLog = stale, time.Time{}
	w.nextScan = time.Now().Add(max(w.opt.FallbackScan, restFactor*(threadTime()-cpu)))
	return changes
}

// lack records a root that is missing or cannot be read, and says so.
func (w *watch) lack(now time.Time, err error) []change {
	if !now.Before(w.nextLog) {
		w.nextLog = now.Add(missingLog)
		w.log.Warn().Str("folder", w.opt.Root).Err(reason(err)).Msg("the folder can not be read; waiting for it")
	}
	w.stale, w.nextScan = false, now.Add(w.opt.FallbackScan)
	w.events.watchVia()
	if missing(err) {
		return w.reader.lose()
	}
	return w.reader.refuse(err)
}

// lock looks for git's lock: while it is there, git is changing files.
func (w *watch) lock(now time.Time, root *os.Root) {
	locked := false
	if root != nil && !w.settle.idle() {
		_, err := root.Lstat(".git/index.lock")
		locked = err == nil
	}
	if w.settle.lock(now, locked) {
		w.log.Error().Str("folder", w.opt.Root).Dur("after", w.opt.MaxLock).
			Msg(".git/index.lock is still there: loading the folder in spite of it; remove the file if no git command is running")
	}
}

// decide gives a Tree if it is time, and returns when to pass again.
func (w *watch) decide(root *os.Root, at place, full bool) time.Time {
	v, next := w.settle.due(time.Now())
	if v == quiet && !full && root != nil && (w.unseen || w.events.blind()) {
		// Nobody would have told of a change since the last look.
		w.settle.note(time.Now(), w.look(root, at, true, nil)...)
		v, next = w.settle.due(time.Now())
	}
	if v != wait {
		w.give(root, v)
		_, next = w.settle.due(time.Now())
	}
	if w.stale {
		next = later(time.Now().Add(staleWait), w.lookAgain)
	}
	if next.IsZero() || w.nextScan.Before(next) {
		return w.nextScan
	}
	return next
}

// give reads what changed and hands the Tree on, unless the folder turns out
// not to be at rest.
func (w *watch) give(root *os.Root, v verdict) {
	start := time.Now()
	first := w.settle.noticed(start)
	t, moving := w.reader.tree(root, v == additions)
	w.busy += time.Since(start)
	restless := v == quiet && (w.stale || len(moving) > 0) && w.patient(start)
	if !restless {
		w.settle.done(v)
	}
	for _, path := range moving {
		w.stale = true // list it again
		w.settle.note(time.Now(), change{path, written})
	}
	if restless || t.Missing && v == additions {
		return
	}
	if v != additions {
		clear(w.reader.kept)
	}
	t.Noticed, t.Scan = first, w.busy
	w.busy, w.restless = 0, time.Time{}
	w.out.put(t)
}

// patient tells whether a folder that moved while it was read may be waited
// for, as long as for additions. The first Tree has no pending change that
// would set a cap.
func (w *watch) patient(now time.Time) bool {
	w.restless = earliest(w.restless, now)
	return now.Sub(w.restless) < w.opt.MaxAdd
}

// mailbox holds the newest Tree that was not handed out yet.
type mailbox chan Tree

// put never blocks: a Tree that nobody took yet gives way.
func (m mailbox) put(t Tree) {
	select {
	case older := <-m:
		t.Noticed = older.Noticed
	default:
	}
	m <- t // there is room: put is the only sender
}

// deliver calls fn with each Tree that differs from the one before, until ctx
// ends.
func (m mailbox) deliver(ctx context.Context, fn func(Tree)) {
	var last *Hash
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-m:
			if last == nil || *last != t.Hash {
				fn(t)
			}
			last = &t.Hash
		}
	}
}
