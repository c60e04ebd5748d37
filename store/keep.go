package store

import (
	"bytes"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// keeps reports whether an object that its file no longer defines stays served. One of these reasons is enough:
//   - The file is skipped.
//   - The file is blank, and AllowEmpty was not called: it is probably still being written. Who removes all objects removes
//     the file, too, or leaves a comment.
//   - A document of the file is broken, or is a text of another program that cannot be parsed and may be the object's.
//   - Path policies reject a definition in the file. The object may have been renamed to this rejected object. This
//     reason does not count for cluster-scoped objects.
//
// The object does not stay if the file is removed, if path policies reject the object itself, or with
// Options.KeepNothing.
func (s *serving) keeps(before served) bool {
	path := before.path()
	f := s.sources.files[path]
	if f == nil || s.keepNothing || !s.fence.permits(path, before.object) {
		return false
	}
	return f.blank && !s.allowEmpty || f.tally.broken+len(f.oddities().doubts) > 0 || f.oddities().skipped != nil || before.object.Key.Namespace != "" && s.fence.definesOutside(f)
}

// keepMoved lets the last valid version of an object stay served if another file has an invalid definition of the
// object, for example because the object moved to that file. It returns false, and keeps nothing, if there is no such
// file, or if path policies forbid the file to define the object. If the file has another source (manifest.Source)
// than the object, the object gets the source of the file, and is added to change.Set.
func (s *serving) keepMoved(key manifest.Key, before served, now time.Time, change *Change) bool {
	r := s.firstRejected(key, func(*rejectedDefinition) bool { return true })
	if r == nil || !s.fence.permits(r.file.path, before.object) {
		return false
	}
	if r.file.source != before.object.Source {
		moved := *before.object
		moved.Source = r.file.source
		s.history.remember(key, before)
		before.object = &moved
		change.Set = append(change.Set, &moved)
	}
	s.keep(key, before, r.file.path, now)
	return true
}

// keep records that the object of a key is stale: its last valid version, the parameter before, stays served.
// The parameter path is the file that should define the object, and has no valid definition of it. The parameter
// now is the time from which the object is stale, unless it was stale before.
func (s *serving) keep(key manifest.Key, before served, path string, now time.Time) {
	after := before
	switch {
	case before.kept == nil:
		after.kept = &kept{path: path, twins: before.hasConflictingListeners(), since: now}
		if s.saves.on {
			after.kept.text = bytes.Clone(before.definition.saved()) // a copy, so that the file can be freed
		}
		after.definition = nil
	case before.kept.path != path:
		moved := *before.kept
		moved.path = path
		after.kept = &moved
	}
	if after != before {
		s.served[key] = after
		s.saves.changed(key)
	}
	if s.kept[path] == nil {
		s.kept[path] = map[manifest.Key]struct{}{}
	}
	s.kept[path][key] = struct{}{}
	s.fresh.sure = false
}

// release ends the effect of keep: the object of a key is no longer recorded as a stale object of the file at
// path. It does nothing if keep did not record this object for this file.
func (s *serving) release(key manifest.Key, path string) {
	if _, kept := s.kept[path][key]; kept {
		s.fresh.sure = false
	}
	delete(s.kept[path], key)
	if len(s.kept[path]) == 0 {
		delete(s.kept, path)
	}
}
