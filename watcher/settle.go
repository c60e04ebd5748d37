package watcher

import (
	"slices"
	"time"
)

// kind is how a path changed.
type kind int

const (
	// written: changed in place, or in any way not known to be atomic.
	written kind = iota
	// added: the name is new.
	added
	// swapped: another file has the name, made in place or renamed to it.
	swapped
	// replaced: swapped by a rename, as the events show: complete the moment it
	// is seen.
	replaced
	// flipped: the link to a directory was replaced, and with it everything
	// below, at once.
	flipped
	// removed: the name is gone, perhaps to come back in a moment.
	removed
	// reread: nothing changed, and it is read once more for safety.
	reread
)

// change is one difference between two looks at the folder.
type change struct {
	path string
	kind kind
}

// genuine returns the changes that were made in the folder itself.
func genuine(changes []change) []change {
	return slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.kind == reread })
}

// verdict is which pending changes may be loaded now.
type verdict int

const (
	// wait: nothing yet.
	wait verdict = iota
	// quiet: everything, the folder has come to rest.
	quiet
	// additions: the cap for additions and changes is reached while the
	// folder moves on; files that vanished, and files that are being written
	// (settle.unfinished), are still kept as they were.
	additions
	// everything: the cap for removals is reached while the folder moves on.
	everything
)

// lockPoll is how often a lock is looked for while it holds a load back: it
// lies in a hidden directory, whose events are not watched.
const lockPoll = 50 * time.Millisecond

// settle decides when a changing folder may be loaded (docs/design/inputs.md). It is a plain state
// machine: the caller passes the changes, and the time. The debounce counts from the last change,
// not from the last event.
type settle struct {
	opt     Options
	pending map[string]pending
	last    time.Time // the last change

	lockedSince time.Time // zero when there is no lock
	alarmed     bool
	forced      bool

	// filled is true if the folder has had files, refilling that it has none in
	// the last Tree. What served is held then, so that there is no hurry: half
	// of a folder that is copied back would take the other half away.
	filled, refilling bool
}

// pending is what happened to one path since it was loaded.
type pending struct {
	kind        kind
	first, last time.Time
}

func newSettle(opt Options) *settle {
	return &settle{opt: opt, pending: map[string]pending{}}
}

// note records changes seen at now.
func (s *settle) note(now time.Time, changes ...change) {
	for _, c := range changes {
		s.last = now
		before, known := s.pending[c.path]
		switch {
		case !known:
			s.pending[c.path] = pending{c.kind, now, now}
		case before.kind == added && c.kind == removed:
			delete(s.pending, c.path) // a temporary file
		default:
			s.pending[c.path] = pending{combine(before.kind, c.kind), before.first, now}
		}
	}
}

// combine returns the combined kind of two changes of one path.
func combine(before, after kind) kind {
	switch {
	case after == reread:
		return before
	case after == removed || before == after || before == reread:
		return after
	case before == added:
		return added
	}
	if after == swapped && before == replaced {
		return swapped // once more, perhaps in another way
	}
	return written // replaced, then written to; or gone and back
}

// heard records an event for path. wrote is true if the file was written in place, as many editors
// do, and false if it was renamed to its name.
func (s *settle) heard(now time.Time, path string, wrote bool) {
	p, known := s.pending[path]
	switch {
	case known && wrote && (p.kind == swapped || p.kind == replaced):
		s.note(now, change{path, written})
	case known && !wrote && p.kind == swapped:
		p.kind = replaced
		s.pending[path] = p
	}
}

// lock records whether git has locked the folder. It returns true once for each lock: when the lock
// has existed for too long and is ignored from now on.
func (s *settle) lock(now time.Time, locked bool) (alarm bool) {
	if !locked {
		s.lockedSince, s.alarmed = time.Time{}, false
		return false
	}
	s.lockedSince = earliest(s.lockedSince, now)
	if s.alarmed || now.Sub(s.lockedSince) < s.opt.MaxLock {
		return false
	}
	s.alarmed = true
	return true
}

// idle reports whether nothing is pending.
func (s *settle) idle() bool { return len(s.pending) == 0 && !s.forced }

// noticed returns when the first pending change was seen, or now.
func (s *settle) noticed(now time.Time) time.Time {
	for _, p := range s.pending {
		now = earlier(now, p.first)
	}
	return now
}

// force makes the next verdict allow loading, whatever is pending. Only a lock still delays it.
func (s *settle) force() { s.forced = true }

// due returns what may be loaded at now. If that is nothing, it also returns the time to call it
// again, zero if nothing is pending.
func (s *settle) due(now time.Time) (verdict, time.Time) {
	switch {
	case s.idle():
		return wait, time.Time{}
	case !s.lockedSince.IsZero() && !s.alarmed:
		return wait, now.Add(lockPoll)
	case s.forced:
		return quiet, now
	}
	next := s.last.Add(s.quietTime())
	if !now.Before(next) {
		return quiet, now
	}
	v := wait
	for _, p := range s.pending {
		limit := s.limit(p)
		switch {
		case now.Before(limit):
			next = earlier(next, limit)
		case p.kind == removed:
			v = everything
		case v == wait:
			v = additions
		}
	}
	if v != wait {
		return v, now
	}
	return wait, next
}

// limit returns the time at which p is loaded even if the folder is still changing.
func (s *settle) limit(p pending) time.Time {
	longest, rest := p.first.Add(s.opt.MaxRemove), p.last.Add(s.opt.Quiet)
	switch {
	case s.refilling:
		return longest
	case p.kind == removed:
		return later(longest, rest)
	case p.kind == replaced || p.kind == flipped:
		return p.first.Add(s.opt.MaxAdd)
	}
	return earlier(longest, later(p.first.Add(s.opt.MaxAdd), rest))
}

// unfinished reports whether the file at path is being written at the moment. Half of a file may be
// valid YAML. Its last content is used until it is at rest, or until it has been written for as
// long as removals wait.
func (s *settle) unfinished(now time.Time, path string) bool {
	p, known := s.pending[path]
	return known && (p.kind == written || p.kind == added || p.kind == swapped) &&
		now.Before(p.last.Add(s.opt.Quiet)) && now.Before(p.first.Add(s.opt.MaxRemove))
}

// quietTime returns the debounce. It is short only if exactly one path was replaced.
func (s *settle) quietTime() time.Duration {
	if s.refilling {
		return s.opt.MaxAdd
	}
	if len(s.pending) == 1 {
		for _, p := range s.pending {
			if p.kind == replaced || p.kind == flipped {
				return s.opt.RenameQuiet
			}
		}
	}
	return s.opt.Quiet
}

// given notes the number of files in the last Tree.
func (s *settle) given(files int) {
	s.refilling = files == 0 && s.filled
	s.filled = s.filled || files > 0
}

// done forgets the changes that v allowed to load at now.
func (s *settle) done(v verdict, now time.Time) {
	s.forced = false
	if v == quiet {
		s.pending = map[string]pending{} // an emptied one keeps the room of all files of the start
		return
	}
	for path, p := range s.pending {
		if !s.unfinished(now, path) && (v == everything || p.kind != removed) {
			delete(s.pending, path)
		}
	}
}

// earliest returns t, or now if t is zero.
func earliest(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
