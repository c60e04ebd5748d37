package watcher

import "time"

// kind says how a path changed.
type kind int

const (
	// written: changed in place, or in any way not known to be atomic.
	written kind = iota
	// added: the name is new.
	added
	// replaced by a rename over it: complete the moment it is seen.
	replaced
	// removed: the name is gone, perhaps to come back in a moment.
	removed
)

// change is one difference between two looks at the folder.
type change struct {
	path string
	kind kind
}

// verdict says what of the pending changes may be loaded now.
type verdict int

const (
	// wait: nothing yet.
	wait verdict = iota
	// quiet: everything, the folder has come to rest.
	quiet
	// additions: the cap for additions and changes is reached while the
	// folder moves on; files that vanished are still kept.
	additions
	// everything: the cap for removals is reached while the folder moves on.
	everything
)

// lockPoll is how often a lock is looked for while it holds a load back: it
// lies in a hidden directory, whose events are not watched.
const lockPoll = 50 * time.Millisecond

// settle decides when a folder that changes may be loaded (design section 3).
// It is a plain state machine: the caller tells what changed and what time it
// is. Quiet counts from the last change, not from the last event.
type settle struct {
	opt     Options
	pending map[string]kind
	gone    int // how many of pending are removed

	first    time.Time // the first pending change
	firstAdd time.Time // the first pending addition or change
	firstRem time.Time // the first pending removal
	last     time.Time // the last change

	lockedSince time.Time // zero when there is no lock
	alarmed     bool
	forced      bool
}

func newSettle(opt Options) *settle {
	return &settle{opt: opt, pending: map[string]kind{}}
}

// note records changes seen at now.
func (s *settle) note(now time.Time, changes ...change) {
	for _, c := range changes {
		before, known := s.pending[c.path]
		if known && before == removed {
			s.gone--
		}
		s.last = now
		s.first = earliest(s.first, now)
		switch {
		case known && before == added && c.kind == removed:
			delete(s.pending, c.path) // a temporary file
			continue
		case known:
			c.kind = combine(before, c.kind)
		}
		s.pending[c.path] = c.kind
		if c.kind == removed {
			s.gone++
			s.firstRem = earliest(s.firstRem, now)
		} else {
			s.firstAdd = earliest(s.firstAdd, now)
		}
	}
	s.tidy()
}

// combine is what two changes of one path in a row are together.
func combine(before, after kind) kind {
	switch {
	case after == removed || before == after:
		return after
	case before == added:
		return added
	}
	return written // replaced, then written to; or gone and back
}

// tidy forgets the times of what is no longer pending.
func (s *settle) tidy() {
	if len(s.pending) == 0 {
		s.first = time.Time{}
	}
	if s.gone == 0 {
		s.firstRem = time.Time{}
	}
	if s.gone == len(s.pending) {
		s.firstAdd = time.Time{}
	}
}

// lock records whether the folder is locked by git. It returns true once per
// lock, when it has been there for too long and is from now on ignored.
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

// idle tells whether nothing is pending.
func (s *settle) idle() bool { return len(s.pending) == 0 && !s.forced }

// noticed returns when the first pending change was seen, or now.
func (s *settle) noticed(now time.Time) time.Time { return earliest(s.first, now) }

// force makes the next verdict quiet whatever is pending; only a lock holds.
func (s *settle) force() { s.forced = true }

// due returns what may be loaded at now and, when that is nothing, the moment
// to ask again; the zero time when nothing is pending.
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
	if s.gone > 0 {
		limit := s.firstRem.Add(s.opt.MaxRemove)
		if !now.Before(limit) {
			return everything, now
		}
		next = earlier(next, limit)
	}
	if len(s.pending) > s.gone {
		limit := s.firstAdd.Add(s.opt.MaxAdd)
		if !now.Before(limit) {
			return additions, now
		}
		next = earlier(next, limit)
	}
	return wait, next
}

// quietTime is the short one only when exactly one path was replaced.
func (s *settle) quietTime() time.Duration {
	if len(s.pending) == 1 {
		for _, k := range s.pending {
			if k == replaced {
				return s.opt.RenameQuiet
			}
		}
	}
	return s.opt.Quiet
}

// done forgets the changes that v allowed to load.
func (s *settle) done(v verdict) {
	s.forced = false
	for path, k := range s.pending {
		if v != additions || k != removed {
			delete(s.pending, path)
		}
	}
	if v != additions {
		s.gone = 0
	}
	s.first = s.firstRem
	s.tidy()
}

// earliest returns t, or now when t was not set yet.
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
