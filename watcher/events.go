package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// maxNames is how many changed paths are remembered between two calls of events.take. If there are more, the whole
// folder is scanned.
const maxNames = 10_000

// errSilent means that the system accepts a watch but sends no events.
var errSilent = errors.New("the system gives no events for this file system")

// events receives the operating system's events about files (inotify or kqueue), and turns them into hints.
// Events may be missing, late, duplicate or wrong. So they only decide where the watcher looks for changes.
//
// Only drain, with the methods that it calls, runs on a goroutine of its own.
type events struct {
	log zerolog.Logger
	fs  *fsnotify.Watcher // nil if there are no events
	// wake has an element if there are hints for take.
	wake chan struct{}

	mu    sync.Mutex
	names map[string]fsnotify.Op
	full  bool // events were lost

	watched map[string]identity     // the watched directories, by the path given to fsnotify
	byID    map[identity]string     // the path of a watched directory; fsnotify supports only one path for each
	live    map[string]bool         // in a full scan: the paths that fsnotify still watches
	entered map[string]bool         // the directories for which the current full scan has called the method enter
	via     map[string]bool         // the links that lead to the folder's root, and the root (place.via)
	failed  bool                    // a directory has no events
	foreign func(dir string) string // returns the kind of a file system that changes without events
	mounts  map[uint64]mount        // the file systems of the folder, by device
	stats   *Stats
	warned  map[string]bool // the texts of warnings that were logged
}

// mount is the state of a file system.
type mount struct {
	entered bool // the current full scan has called events.enter for a directory of this file system
	silent  bool // changes may come without events
}

// newEvents starts to receive events. If the system provides no events, newEvents logs a warning, and the
// watcher finds changes by scans; in mode Inotify it returns an error instead. In mode Poll it starts nothing.
func newEvents(opt Options, log zerolog.Logger) (*events, error) {
	e := &events{
		log:     log,
		wake:    make(chan struct{}, 1),
		names:   map[string]fsnotify.Op{},
		watched: map[string]identity{},
		byID:    map[identity]string{},
		entered: map[string]bool{},
		foreign: foreign,
		mounts:  map[uint64]mount{},
		stats:   opt.Stats,
		warned:  map[string]bool{},
	}
	switch opt.Mode {
	case Poll:
		return e, nil
	case Inotify:
		e.foreign = func(string) string { return "" }
	}
	w, err := fsnotify.NewWatcher()
	if err != nil && opt.Mode == Inotify {
		return nil, fmt.Errorf("the system gives no events: %w", err)
	}
	if err != nil {
		e.limited(err)
		return e, nil
	}
	e.fs = w
	return e, nil
}

// blind reports whether files may change without events.
func (e *events) blind() bool { return e.fs == nil || e.failed }

// limited is called if the system gives no events for the whole folder, or refuses to watch one of its directories.
// It sets e.failed, so that scans find the changes there, and logs a warning with err. Usually the cause is the
// system's limit of inotify instances or watches.
func (e *events) limited(err error) {
	e.failed = true
	e.warn(e.log.Warn().Err(err),
		"the system gives no events for a part of the folder: it is watched by scans, which is slower (raise fs.inotify.max_user_watches or fs.inotify.max_user_instances)")
}

// warn logs a warning, but each text only once. The parameter line is the log event, and text is its message.
func (e *events) warn(line *zerolog.Event, text string) {
	if e.warned[text] {
		line.Discard().Send()
		return
	}
	e.warned[text] = true
	line.Msg(text)
}

// drain receives events and errors until close is called. If nothing received them, the channel would fill up
// and fsnotify would block forever.
func (e *events) drain() {
	if e.fs == nil {
		return
	}
	evs, errs := e.fs.Events, e.fs.Errors
	for evs != nil || errs != nil {
		select {
		case ev, ok := <-evs:
			if !ok {
				evs = nil
				continue
			}
			e.add(ev)
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			e.lost()
		}
	}
}

// add records an event for take. If too many paths have changed, it requests a scan of the whole folder
// instead.
func (e *events) add(ev fsnotify.Event) {
	if ev.Name == "" {
		return // fsnotify's bookkeeping
	}
	e.mu.Lock()
	if len(e.names) >= maxNames {
		e.full = true
	} else {
		e.names[ev.Name] |= ev.Op
	}
	e.mu.Unlock()
	e.signal()
}

// lost requests a scan of the whole folder, because events may be missing after an overflow or another error.
func (e *events) lost() {
	e.stats.Lost.Add(1)
	e.mu.Lock()
	e.full = true
	e.mu.Unlock()
	e.signal()
}

func (e *events) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// where has the directories in which something may have changed, each with the names of the changed entries. A nil
// map of names means that all entries may have changed.
type where map[identity]map[string]bool

// add adds the name of a file in the directory dir. It does nothing if w already has all names of dir.
func (w where) add(dir identity, name string) {
	names, known := w[dir]
	if known && names == nil {
		return
	}
	if !known {
		names = map[string]bool{}
		w[dir] = names
	}
	names[name] = true
}

// hints says where the folder may have changed.
type hints struct {
	dirs  where
	names map[string]fsnotify.Op // the operations by path, if they are known
	root  bool                   // the path to the root may have changed
	full  bool                   // everything may have changed
}

// any reports whether something below the root, or the path to it, may have changed.
func (h hints) any() bool { return h.full || h.root || len(h.dirs) > 0 }

// take returns the hints (where the folder may have changed) since the last call of take. It forgets the events
// from which it made them.
func (e *events) take() hints {
	e.mu.Lock()
	names, full := e.names, e.full
	e.names, e.full = map[string]fsnotify.Op{}, false
	e.mu.Unlock()
	h := hints{dirs: where{}, names: names, full: full}
	for name, op := range names {
		if id, ok := e.watched[filepath.Dir(name)]; ok {
			h.dirs.add(id, filepath.Base(name))
		}
		h.root = h.root || e.via[name]
		id, self := e.watched[name]
		switch {
		case self && op.Has(fsnotify.Remove|fsnotify.Rename):
			h.full = true // its watch was removed
		case self:
			h.dirs[id] = nil
		}
	}
	return h
}

// begin starts a full scan, which is a scan of the whole folder. During the scan, the method enter must be called
// for every directory that the scan lists. After the scan, the method end must be called.
func (e *events) begin() {
	if e.fs == nil {
		return
	}
	e.failed = false
	e.entered = map[string]bool{}
	for dev, m := range e.mounts {
		m.entered = false
		e.mounts[dev] = m
	}
	e.live = e.watchVia()
}

// end ends a full scan. It removes the watches of directories for which the scan did not call enter, because
// these directories no longer exist or are left out.
func (e *events) end() {
	for dir := range maps.Clone(e.watched) {
		if !e.entered[dir] {
			e.forget(dir)
		}
	}
	maps.DeleteFunc(e.mounts, func(_ uint64, m mount) bool { return !m.entered })
	e.entered, e.live = map[string]bool{}, nil
	e.updateFigures()
}

// updateFigures sets Announced and Directories in e.stats.
func (e *events) updateFigures() {
	e.stats.Announced.Store(!e.blind())
	e.stats.Directories.Store(int64(len(e.watched)))
}

// enter watches a directory. The parameter dir is its path, and id is its identity. enter adds no watch if the
// system gives no events, or if the directory is already watched under another path. If the system refuses the
// watch, enter logs a warning, and only scans find changes in the directory. It ignores a directory that has
// vanished.
func (e *events) enter(dir string, id identity) {
	if e.fs == nil {
		return
	}
	e.entered[dir] = true
	e.failed = e.silent(dir, id.dev) || e.failed
	other, known := e.byID[id]
	if known && other != dir && e.entered[other] {
		return // the directory is watched under its other path
	}
	if e.live[dir] && e.watched[dir] == id {
		return
	}
	if known {
		e.forget(other)
	}
	e.forget(dir) // Add on a path whose directory changed would leak the old watch
	err := e.fs.Add(dir)
	if err == nil {
		e.watched[dir], e.byID[id] = id, dir
	} else if !errors.Is(err, fs.ErrNotExist) {
		e.limited(err)
	}
	e.updateFigures()
}

// silent reports whether files on the file system of dir may change without events. dev is the device number of
// that file system. silent tests each file system once, and writes nothing into the folder. It logs a warning for
// the first file system for which the result is true.
func (e *events) silent(dir string, dev uint64) bool {
	m, known := e.mounts[dev]
	if !known {
		kind := e.foreign(dir)
		if kind == "" && errors.Is(probe(dir), errSilent) {
			kind = "without events"
		}
		if m.silent = kind != ""; m.silent {
			e.warn(e.log.Warn().Str("directory", dir).Str("file_system", kind),
				"files can change here without an event: such changes are found by scans, which is slower (--watch inotify if they are all made on this host)")
		}
	}
	m.entered = true
	e.mounts[dev] = m
	return m.silent
}

// forget removes the watch of the directory at the path dir, if there is one.
func (e *events) forget(dir string) {
	if id, ok := e.watched[dir]; ok {
		_ = e.fs.Remove(dir) // an error means that it is removed already
		delete(e.watched, dir)
		delete(e.live, dir)
		if e.byID[id] == dir {
			delete(e.byID, id)
		}
	}
}

// follow watches the directories that contain the paths in via. A change of such a path, for example of a link,
// can change which directory the root is. follow returns true if the paths differ from those of the last call. The
// caller must then open the root again, because a change before the watch caused no event. If the system gives no
// events, follow does nothing and returns false.
func (e *events) follow(via []string) (again bool) {
	if e.fs == nil {
		return false
	}
	want := map[string]bool{}
	for _, path := range via {
		want[path] = true
	}
	if maps.Equal(want, e.via) {
		return false
	}
	before := e.viaDirs()
	e.via = want
	have := e.watchVia()
	for dir := range before {
		if _, ours := e.watched[dir]; have[dir] && !ours && !e.viaDirs()[dir] {
			_ = e.fs.Remove(dir) // an error means that it is removed already
		}
	}
	return true
}

// viaDirs returns the directories that contain the paths in e.via.
func (e *events) viaDirs() map[string]bool {
	dirs := map[string]bool{}
	for path := range e.via {
		dirs[filepath.Dir(path)] = true
	}
	return dirs
}

// watchVia watches the directories of viaDirs that are not watched yet. The result has every path that was
// watched before the call; it is empty if the system gives no events.
func (e *events) watchVia() map[string]bool {
	have := map[string]bool{}
	if e.fs == nil {
		return have
	}
	for _, dir := range e.fs.WatchList() {
		have[dir] = true
	}
	for dir := range e.viaDirs() {
		if !have[dir] {
			_ = e.fs.Add(dir) // scans find the changes if this fails
		}
	}
	return have
}

// close stops the events, which ends drain.
func (e *events) close() {
	if e.fs != nil {
		_ = e.fs.Close() // an error needs no action
	}
}
