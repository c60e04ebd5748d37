package watcher

import (
	"maps"
	"slices"
	"time"
)

// kind is how a path changed.
type kind int

const (
	// written means that the file was changed in place, or in a way that may not be atomic.
	written kind = iota
	// added means that the name is new.
	added
	// swapped means that the name now belongs to another file, which was created or renamed to the name.
	swapped
	// replaced means swapped by a rename, as events show. The file is complete at once.
	replaced
	// flipped means that a link to a directory was replaced: everything below changed at once.
	flipped
	// removed means that the name does not exist any more. It may come back soon.
	removed
	// reread means that nothing changed, but that the file is read once more for safety.
	reread
)

// change is one difference between the folder and its state at the last look.
type change struct {
	path string
	kind kind
}

// genuine returns the changes of files that really changed. It leaves out changes of kind reread, which only make
// the watcher read a file once more for safety.
func genuine(changes []change) []change {
	return slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.kind == reread })
}

// verdict says which pending changes (changes that no Tree has yet) may be part of the next Tree.
type verdict int

const (
	// wait means that nothing may be loaded yet.
	wait verdict = iota
	// quiet means that everything may be loaded: the debounce is over, or loading is forced.
	quiet
	// additions means that the folder is still changing, but that additions and changes of a unit (Options.Unit) have
	// waited long enough. Removed files, files that are being written (settle.unfinished), and the files of all other
	// units keep their last content.
	additions
	// everything means that the folder is still changing, but that removals of a unit have waited long enough, too. Only
	// files that are being written, and the files of other units, keep their last content.
	everything
)

// lockPoll is how often the watcher checks whether a lock of git still delays loading. The lock is in a hidden
// directory, so it causes no event.
const lockPoll = 50 * time.Millisecond

// settle decides when the changes of a folder may become a new Tree (docs/design/inputs.md). It implements the
// debounce, which starts at the last change and not at the last event. It reads no files and no clock: its
// methods get the changes and the time.
type settle struct {
	opt     Options
	pending map[string]pending
	last    time.Time // the last change
	// units has the unit of each path for which the unit was needed, while the change of the path is pending. verdicts has the
	// verdict of each unit with pending changes, as the last call of the method due found it.
	units    map[string]string
	verdicts map[string]verdict

	lockedSince time.Time // zero if there is no lock
	unlocked    time.Time // when the last lock was released; zero if there was none
	alarmed     bool      // the method lock has returned true for the present lock
	forced      bool

	// filled is true once the folder has had files. With Options.Filled, it is true from the beginning. refilling is
	// true if the last Tree has no files although the folder had some before. Then the debounce is longer
	// (quietTime), because the files may be copied back slowly. With the usual debounce, a Tree could have only half
	// of the files, and the objects in the other half would be removed. The longer debounce does no harm: store.Store
	// does not apply a Tree without files, so the objects stay served.
	filled, refilling bool
}

// pending is the change of one path that no Tree has yet. first and last are when the path was first and last
// seen to change.
type pending struct {
	kind        kind
	first, last time.Time
}

func newSettle(opt Options) *settle {
	return &settle{opt: opt, pending: map[string]pending{}, units: map[string]string{}, verdicts: map[string]verdict{}, filled: opt.Filled}
}

// note adds changes, which were seen at the time now, to the pending changes. If a file was added, and is removed
// before any Tree contains it, note drops both changes, because the file was temporary.
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

// combine returns one kind for two successive changes of a path. The parameter before is the kind of the first
// change, and the parameter after is that of the second. For example, replaced and then written becomes written.
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
		return swapped // replaced again, perhaps in another way
	}
	return written // for example, replaced and then written, or removed and then added
}

// heard records an event for the file at path. The parameter wrote is true if the event reports a write into the
// file, and false if it reports that the name was created or renamed. heard ignores the event unless the file has a
// pending change of the kind swapped or replaced. Both kinds mean that the name now belongs to a new file. A write
// into the new file changes the kind to written. Any other event shows that a rename put the new file there: it
// changes the kind swapped to replaced.
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

// lock records whether git has locked the folder (gitLocked). While the folder is locked, the method due returns
// the verdict wait. If a lock is older than Options.MaxLock, lock returns true once, and due ignores this lock from
// then on. The longest debounce of the pending changes (limit) begins anew when a lock is released: a checkout that
// took longer would otherwise be loaded without the files that git wrote last.
func (s *settle) lock(now time.Time, locked bool) (alarm bool) {
	if !locked {
		if !s.lockedSince.IsZero() {
			s.unlocked = now
		}
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

// reopened returns the verdict by which a Tree is made for files that are pending no more, because a program had them
// open for writing when they were due. The parameter v is what the method due returned.
func (s *settle) reopened(v verdict) verdict {
	switch {
	case v == wait && s.idle():
		return quiet
	case v == wait && s.opt.Unit != nil && !s.locked():
		return additions // all units with pending changes wait
	}
	return v
}

// locked reports whether a lock of git delays loading.
func (s *settle) locked() bool { return !s.lockedSince.IsZero() && !s.alarmed }

// idle reports whether no change is pending and no loading is forced.
func (s *settle) idle() bool { return len(s.pending) == 0 && !s.forced }

// noticed returns when the first pending change was seen. It returns now if no change is pending.
func (s *settle) noticed(now time.Time) time.Time {
	for _, p := range s.pending {
		now = earlier(now, p.first)
	}
	return now
}

// force makes a Tree due at once, even if nothing is pending or the debounce is not over: s.due() returns the verdict
// "quiet" until s.done() is called. Only a lock of git can still delay the Tree.
func (s *settle) force() { s.forced = true }

// due returns which pending changes may become a Tree at the time now. If it returns the verdict wait, the
// second result is the time at which the caller must ask again. That time is zero if nothing is pending.
func (s *settle) due(now time.Time) (verdict, time.Time) {
	switch {
	case s.idle():
		return wait, time.Time{}
	case s.locked():
		return wait, now.Add(lockPoll)
	case s.forced:
		return quiet, now
	}
	next := s.last.Add(s.quietTime())
	if !now.Before(next) {
		return quiet, now
	}
	most, rests := wait, s.rests()
	clear(s.verdicts)
	for path, p := range s.pending {
		unit := s.unit(path)
		limit := s.limit(p, rests[unit])
		v := additions
		if now.Before(limit) {
			next, v = earlier(next, limit), wait
		} else if p.kind == removed {
			v = everything
		}
		s.verdicts[unit] = max(s.verdicts[unit], v)
		most = max(most, v)
	}
	if most != wait {
		return most, now
	}
	return wait, next
}

// unit returns the unit of a path (Options.Unit).
func (s *settle) unit(path string) string {
	if s.opt.Unit == nil {
		return ""
	}
	unit, known := s.units[path]
	if !known {
		unit = s.opt.Unit(path)
		s.units[path] = unit
	}
	return unit
}

// rests returns for each unit the time from which it is at rest, if none of its files changes again: Options.Quiet
// after the last of its pending changes. Without units it returns nil.
func (s *settle) rests() map[string]time.Time {
	if s.opt.Unit == nil {
		return nil
	}
	all := map[string]time.Time{}
	for path, p := range s.pending {
		unit := s.unit(path)
		all[unit] = later(all[unit], p.last.Add(s.opt.Quiet))
	}
	return all
}

// limit returns the time at which the change p may become part of a Tree even if the folder is still changing. The
// parameter rest is the time from which the unit of the file is at rest (see rests). It is zero without units.
func (s *settle) limit(p pending, rest time.Time) time.Time {
	first, own := later(p.first, earlier(s.unlocked, p.first.Add(s.opt.MaxLock))), p.last.Add(s.opt.Quiet)
	longest := first.Add(s.opt.MaxRemove)
	removal := longest
	if s.opt.Unit != nil {
		removal = earlier(longest, later(first.Add(s.opt.MaxRemoveUnit), rest))
	}
	switch {
	case s.refilling:
		return longest
	case p.kind == removed:
		return later(removal, own)
	case p.kind == replaced || p.kind == flipped:
		own = rest
	}
	return earlier(longest, later(first.Add(s.opt.MaxAdd), later(own, rest)))
}

// waits reports whether a changed file keeps its last content in the Tree that a caller makes after the method due
// returned additions or everything.
func (s *settle) waits(now time.Time, path string) bool {
	v, pending := s.verdicts[s.unit(path)]
	return pending && v == wait || s.unfinished(now, path)
}

// keeps reports whether a file that vanished stays in such a Tree.
func (s *settle) keeps(path string) bool { return s.verdicts[s.unit(path)] != everything }

// unfinished reports whether the file at path is probably being written. The Tree then keeps the file's last
// content, because half of a file may be valid YAML. The result is false if Options.Quiet has passed since the
// last change of the file, or Options.MaxRemove since the first. It is also false for a file that a rename
// replaced, because such a file is complete.
func (s *settle) unfinished(now time.Time, path string) bool {
	p, known := s.pending[path]
	return known && (p.kind == written || p.kind == added || p.kind == swapped) &&
		now.Before(p.last.Add(s.opt.Quiet)) && now.Before(p.first.Add(s.opt.MaxRemove))
}

// quietTime returns the debounce: how long no path may change before the pending changes are loaded. It is
// Options.MaxAdd while a folder that lost all its files is filled again (s.refilling). It is Options.RenameQuiet if
// the only pending change is that a file was replaced by a rename, or that a link to a directory was replaced
// (kinds replaced and flipped). In all other cases it is Options.Quiet.
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

// given records that a Tree was passed on. files is its number of files, skipped files included. If files is 0
// and an earlier Tree had some, s.refilling becomes true: then the debounce is longer, until the files are
// back.
func (s *settle) given(files int) {
	s.refilling = files == 0 && s.filled
	s.filled = s.filled || files > 0
}

// done is called after a new Tree was made. It removes the pending changes that the Tree has. The parameter v is
// the verdict by which the Tree was made, and now is the time when it was made. done also ends the effect of the
// method force.
func (s *settle) done(v verdict, now time.Time) {
	s.forced = false
	if v == quiet {
		s.pending, s.units = map[string]pending{}, map[string]string{} // cleared maps would keep memory for all files of the start
		return
	}
	for path, p := range s.pending {
		if !s.waits(now, path) && (p.kind != removed || !s.keeps(path)) {
			delete(s.pending, path)
		}
	}
	maps.DeleteFunc(s.units, func(path, _ string) bool {
		_, waits := s.pending[path]
		return !waits
	})
}

// patient reports whether Watch may wait longer for a folder that changes while it is read. It returns false
// when Options.MaxAdd has passed since the first Tree was discarded for this reason.
func (w *watch) patient(now time.Time) bool {
	w.restless = earliest(w.restless, now)
	return now.Sub(w.restless) < w.opt.MaxAdd
}

// earliest returns t, or now if t is zero.
func earliest(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// earlier returns the earlier of two times. The zero time is before all others.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// later returns the later of two times. The zero time is before all others.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
