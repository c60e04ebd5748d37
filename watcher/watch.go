package watcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

const (
	// restFactor times the CPU time of a full scan is the shortest pause after it: about 1 % of a core is used.
	restFactor = 100
	// missingLog is the time between two log lines about a missing root.
	missingLog = time.Minute
	// staleWait is the delay before the next look if something vanished during a look.
	staleWait = 10 * time.Millisecond
	// rootTries is how often a root that vanishes is opened, at most, without a delay. git-sync removes the old
	// tree as soon as the link points to the new one.
	rootTries = 5
)

// Watch calls fn with the Tree of opt.Root at once, and again after each change and its debounce
// (docs/design/inputs.md). Calls of fn do not overlap. While fn runs, Watch keeps only the newest Tree, which
// replaces an older Tree that waits for fn. After such a replacement, Watch calls fn with the newest Tree even if it
// is equal to the last Tree that fn received. For a missing root, fn receives Tree{Missing: true}.
//
// Watch returns nil after ctx has ended and the last call of fn has returned. It returns an error only if opt.Root is
// empty, if the absolute path of opt.Root cannot be found, or if the folder cannot be watched in the requested mode.
// If fn or a goroutine of Watch panics, Watch panics.
func Watch(ctx context.Context, opt Options, log zerolog.Logger, fn func(Tree)) error {
	if opt.Root == "" {
		return errors.New("no folder to watch")
	}
	if _, err := filepath.Abs(opt.Root); err != nil {
		return err
	}
	opt = opt.withDefaults()
	w, err := newWatch(opt, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var others sync.WaitGroup
	run := func(work func()) func() { return func() { defer failWith(cancel); work() } }
	others.Go(run(w.events.drain))
	others.Go(run(func() { w.out.deliver(ctx, fn) }))
	run(func() { w.run(ctx) })()
	w.events.close()
	others.Wait()
	if raised := new(mistake); errors.As(context.Cause(ctx), &raised) {
		panic(raised.Error())
	}
	return nil
}

// watch is the state of one call of Watch. Only the goroutine of watch.run uses its fields, except events and
// out.
type watch struct {
	opt    Options
	log    zerolog.Logger
	reader *reader
	settle *settle
	events *events
	out    mailbox

	stale     bool          // the next look compares everything
	restless  time.Time     // when a Tree was first discarded because the folder was changing
	unseen    bool          // the last changes were found without an event
	nextScan  time.Time     // when everything is compared even without an event
	nextLog   time.Time     // when a missing root is logged again
	busy      time.Duration // time for listing and reading since the last Tree
	lookAgain time.Time     // events start no pass before this time, so that many events do not use all CPU time

	unannounced []change          // found by a timed scan, without an event so far
	asked       []chan<- struct{} // requests of Options.Rescan that wait for a Tree

	writers writers
}

// newWatch returns the state of a Watch of opt.Root. It returns an error only if opt.Mode is Inotify and the system
// provides no events for the folder.
func newWatch(opt Options, log zerolog.Logger) (*watch, error) {
	events, err := newEvents(opt, log)
	if err != nil {
		return nil, err
	}
	if err := probe(opt.Root); opt.Mode == Inotify && errors.Is(err, errSilent) {
		events.close()
		return nil, fmt.Errorf("folder %s: %w", opt.Root, err)
	}
	w := &watch{
		writers: writers{longest: opt.MaxOpen},

		opt:    opt,
		log:    log,
		reader: newReader(opt),
		settle: newSettle(opt),
		events: events,
		out:    make(mailbox, 1),
	}
	w.settle.force() // the first Tree comes at once
	w.reader.enter = func(dir string, id identity) {
		w.events.enter(filepath.Join(w.reader.at.path, dir), id)
	}
	return w, nil
}

// run calls pass for each event, timer and reload request, until ctx ends.
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
			wait.Reset(time.Until(w.lookAgain)) // events until then are part of the next pass
			select {
			case <-ctx.Done():
				return
			case <-wait.C:
			}
		case done, ok := <-rescan:
			if force = ok; ok {
				w.asked = append(w.asked, done)
			} else {
				rescan = nil // a closed channel has no more requests
			}
		case <-wait.C:
		}
	}
}

// pass looks for changes once, and makes a Tree if settle allows it. It compares only the names for which
// events came. But it compares the whole folder if force is true (a reload request), if events were lost, if the
// last look was incomplete, if git's lock was released, or if a scan of the whole folder is due. It returns the time of the next pass.
func (w *watch) pass(force bool) time.Time {
	start := time.Now()
	h := w.events.take()
	hinted, timed := h.any(), !start.Before(w.nextScan)
	full := force || h.full || w.stale || timed
	if !hinted && !full && w.settle.idle() && !w.writers.due(start) {
		return w.nextScan // no event was for a path of the folder
	}
	if w.settle.idle() {
		w.busy = 0 // earlier passes found nothing
	}
	timed = timed && !force && !w.stale && w.reader.top != nil && !w.reader.ignore.waits()
	locked := w.reader.top != nil && gitLocked(w.reader.at.path) // before the look: git may end between the look and the next question
	if !locked && w.settle.locked() {
		full = true // the events of what git wrote last may be late
	}
	root, at, changes := w.survey(start, full, h.dirs)
	if root != nil {
		defer root.Close()
	}
	if len(changes) > 0 {
		w.unseen = !hinted
	}
	switch {
	case hinted:
		w.unannounced = nil
	case timed:
		w.unannounced = append(w.unannounced, genuine(changes)...)
	}
	w.note(start, at, changes, h)
	w.lock(start, root, at, locked)
	if force {
		w.settle.force()
	}
	w.busy += time.Since(start)
	if hinted || w.stale {
		w.lookAgain = time.Now().Add(time.Since(start))
	}
	return w.decide(root, at, full)
}

// note tells w.settle which changes a pass found, and which events in h are for paths in the watched folder. The
// parameter at is the directory to which the path of the root leads (see place).
func (w *watch) note(now time.Time, at place, changes []change, h hints) {
	w.settle.note(now, changes...)
	for path, op := range h.names {
		if name, below := strings.CutPrefix(path, at.path+"/"); below && op.Has(fsnotify.Create|fsnotify.Write) {
			w.settle.heard(now, name, op.Has(fsnotify.Write))
		}
	}
}

// survey opens the root, compares the folder with its known state, and returns the changes. It compares only
// the names in dirs, unless full is true or the root is another directory than before. root is nil if the
// folder is missing or cannot be read; the changes then say so.
func (w *watch) survey(now time.Time, full bool, dirs where) (root *os.Root, at place, changes []change) {
	var err error
	for range rootTries {
		if root, at, err = w.open(); err == nil {
			if changes, err = w.look(root, at, full, dirs); err == nil {
				return root, at, changes
			}
			root.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil, at, w.lack(now, err)
}

// open opens the root. If the links on the path to the root have changed, open watches the new ones and then opens
// the root again, so that no change of a link is missed.
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

// look compares the folder with its known state and returns the changes. It compares only the names in dirs, unless
// full is true, the root is another directory than before, or the names say that it must be everything. It returns an error
// only if it had to compare the whole folder, but could not list the root.
func (w *watch) look(root *os.Root, at place, full bool, dirs where) ([]change, error) {
	var some []change
	if !full && w.reader.top != nil && at.same(w.reader.at) {
		changes, stale, err := w.reader.look(root, at, dirs)
		if !stale && err == nil {
			return changes, nil
		}
		some = changes
	}
	runtime.LockOSThread() // ThreadTime measures this thread
	defer runtime.UnlockOSThread()
	cpu := ThreadTime()
	w.events.begin()
	changes, stale, err := w.reader.look(root, at, nil)
	w.events.end()
	cpu = ThreadTime() - cpu
	w.opt.Stats.Scans.Add(1)
	w.opt.Stats.ScanTime.Add(int64(cpu))
	pause := w.opt.FallbackScan
	if w.reader.ignore.waits() {
		pause = min(pause, writersPoll)
	}
	w.nextScan = time.Now().Add(max(pause, restFactor*cpu))
	if err != nil {
		return nil, err
	}
	w.stale, w.nextLog = stale, time.Time{}
	return slices.Concat(some, changes), nil
}

// lack records that the root is missing or cannot be read, and returns the changes that follow from this (see
// reader.lose and reader.keepKnown). It logs err, at most once per missingLog.
func (w *watch) lack(now time.Time, err error) []change {
	if !now.Before(w.nextLog) {
		w.nextLog = now.Add(missingLog)
		w.log.Warn().Str("folder", w.opt.Root).Err(reason(err)).Msg("the folder can not be read; waiting for it")
	}
	w.stale, w.nextScan = false, later(w.nextScan, now.Add(w.opt.FallbackScan))
	w.events.watchVia()
	if missing(err) {
		return w.reader.lose()
	}
	return w.reader.keepKnown(err)
}

// lock tells w.settle whether git's lock file exists, which delays loading while a change is pending or loading is
// forced. The parameter locked is true if the file existed before this pass looked for
// changes. If the file exists for longer than Options.MaxLock, lock logs an error once.
func (w *watch) lock(now time.Time, root *os.Root, at place, locked bool) {
	locked = root != nil && !w.settle.idle() && (locked || gitLocked(at.path))
	if w.settle.lock(now, locked) {
		w.log.Error().Str("folder", w.opt.Root).Dur("after", w.opt.MaxLock).
			Msg(".git/index.lock is still there: loading the folder in spite of it; remove the file if no git command is running")
	}
}

// decide makes a Tree if w.settle allows it. It also makes a Tree if it is time to look again at files that were
// open for writing when the last Tree was made (w.writers). It returns the time of the next pass. full is true if
// this pass has compared the whole folder.
func (w *watch) decide(root *os.Root, at place, full bool) time.Time {
	v, next := w.settle.due(time.Now())
	if v == quiet && !full && root != nil && (w.unseen || w.events.blind()) {
		// A change since the last look may have caused no event.
		changes, err := w.look(root, at, true, nil)
		w.stale = w.stale || err != nil
		w.settle.note(time.Now(), changes...)
		w.lock(time.Now(), root, at, false) // git may have begun since the first look
		v, next = w.settle.due(time.Now())
	}
	if w.writers.due(time.Now()) {
		v = w.settle.reopened(v)
	}
	if v != wait {
		w.give(root, at, v)
		_, next = w.settle.due(time.Now())
	}
	if w.stale {
		next = later(time.Now().Add(staleWait), w.lookAgain)
	}
	if next.IsZero() || w.nextScan.Before(next) {
		next = w.nextScan
	}
	if len(w.writers.since) > 0 {
		next = earlier(next, w.writers.next)
	}
	return next
}

// give reads the changed files and puts the resulting Tree into w.out. The parameter v says which changes may be
// loaded (see verdict). In these cases give discards the Tree, so that a later pass tries again:
//   - The folder changed during the reading, and the root now leads to another directory or cannot be opened.
//   - The folder changed during the reading, v is quiet (debounce over), and w.patient says that give can wait.
//   - The root is missing, and it may not disappear yet.
func (w *watch) give(root *os.Root, at place, v verdict) {
	start := time.Now()
	first := w.settle.noticed(start)
	as := loading{waits: func(path string) bool { return w.writers.waits(path, start) }}
	if v != quiet {
		as.hold, as.keep = func(path string) bool { return w.settle.waits(start, path) }, w.settle.keeps
	}
	t, moving := w.reader.tree(root, as)
	w.busy += time.Since(start)
	w.writers.note(w.reader.open, start)
	for _, path := range w.reader.unfinished {
		w.log.Warn().Str("path", path).Dur("after", w.opt.MaxOpen).
			Msg("a program still has the file open for writing: gatefold reads it as it is now, and it may be incomplete")
	}
	restless := w.stale || len(moving) > 0
	restless = restless && (!w.stands(at) || v == quiet && w.patient(start))
	if !restless {
		w.settle.done(v, start)
	}
	for _, path := range moving {
		w.stale = true // list it again
		w.settle.note(time.Now(), change{path, written})
	}
	if restless || t.Missing && as.keeps("") {
		return
	}
	maps.DeleteFunc(w.reader.kept, func(path string, _ *loaded) bool { return !as.keeps(path) })
	w.reportMissed()
	w.settle.given(t.Files.Len() + len(t.Skipped))
	t.Noticed, t.Scan = first, w.busy
	w.busy, w.restless = 0, time.Time{}
	p := parcel{tree: t}
	if v == quiet {
		p.asked, w.asked = w.asked, nil
	}
	w.out.put(p)
	if w.opt.Arrived != nil {
		w.opt.Arrived(p.tree)
	}
}

// stands reports whether the path of the root still leads to the directory in the parameter at. It returns false if
// the root cannot be opened.
func (w *watch) stands(at place) bool {
	root, now, err := openRoot(w.opt.Root)
	if err != nil {
		return false
	}
	root.Close()
	return now.same(at)
}

// reportMissed counts the changes that a scan found although no event reported them. If the system should have
// sent events, it also logs a warning. If the system sends no events at all, it does nothing.
func (w *watch) reportMissed() {
	if len(w.unannounced) == 0 || w.events.fs == nil {
		return
	}
	w.opt.Stats.Unannounced.Add(int64(len(w.unannounced)))
	if !w.events.blind() {
		w.events.warn(w.log.Warn().Str("path", w.unannounced[0].path),
			"a change was found that the system gave no event for (a link to a file elsewhere, a mount): the like are found by scans, which is slower")
	}
	w.unannounced = nil
}
