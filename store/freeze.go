package store

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Frozen says which objects are frozen: they stay as they were at the last call of Applied, whatever their files say.
type Frozen struct {
	// All is nil, or the reason why all namespaces are frozen, and the cluster-scoped objects as well.
	All *Reason
	// Namespaces are the frozen namespaces, with their reasons.
	Namespaces map[string]Reason
	// Held are the edits of single objects that are not applied. An object is frozen until its file says something else
	// than the edit.
	Held map[manifest.Key]Held
}

// Reason is why an object is frozen: a message, and the place of what is wrong.
type Reason struct {
	Place
	Message string
}

// of returns the reason why an object is frozen. It returns nil if the object is not frozen.
func (f Frozen) of(key manifest.Key) *Reason {
	if f.All != nil {
		return f.All
	}
	if why, frozen := f.Namespaces[key.Namespace]; frozen {
		return &why
	}
	if held, frozen := f.Held[key]; frozen {
		return &held.Reason
	}
	return nil
}

// Holds reports whether an object is frozen.
func (f Frozen) Holds(key manifest.Key) bool { return f.of(key) != nil }

// Errors returns the errors among the problems, sorted, without the words on what they mean for traffic. So an error has
// the same message whether its revision is served or not.
func (s *Store) Errors() []manifest.Problem {
	return slices.DeleteFunc(s.problemLists.plain(), func(p manifest.Problem) bool { return p.Severity != manifest.Error })
}

// ChangedFiles returns the files of the objects that differ from what was served at the last call of Applied, sorted: the
// file of the present version, and that of the version before.
func (s *Store) ChangedFiles() []string {
	files := map[string]struct{}{}
	for key := range s.serving.changed() {
		if s.serving.asBefore(key) {
			continue
		}
		for _, version := range []served{s.serving.served[key], s.history.previous[key]} {
			if version.object != nil {
				files[version.path()] = struct{}{}
			}
		}
		if at := s.serving.placeOfInvalid(key); at.File != "" {
			files[at.File] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(files))
}

// Thaw ends the effect of Freeze on namespaces with the next call of Apply: it then applies what the files of all
// namespaces say. Single edits (Frozen.Held) stay held.
func (s *Store) Thaw() {
	if s.serving.frozen.All != nil || len(s.serving.frozen.Namespaces) > 0 {
		s.serving.thaw(Frozen{Held: s.serving.frozen.Held})
	}
}

// thaw replaces what is frozen. For each key that is held back now, the next call of adopt decides again.
func (s *serving) thaw(frozen Frozen) {
	maps.Copy(s.unsettled, s.held)
	for key := range s.held {
		s.blame(key, nil)
	}
	s.frozen, s.held = frozen, map[manifest.Key]struct{}{}
}

// Freeze freezes objects and no others, and returns what this changes. For each frozen object, it takes back what
// the Changes since the last call of Applied had. An object that differs from its file is then stale, with the reason
// as its message. An object that is new in its file is not served. Path policies still count: an object that its file
// may not define any more is removed.
//
// The result has the fields Set, Gone, Invalid, Problems and Stale.
func (s *Store) Freeze(frozen Frozen) Change {
	frozen.Held = maps.Clone(frozen.Held)
	s.serving.thaw(frozen)
	now := time.Now()
	before := map[manifest.Key]version{}
	for key := range s.serving.changed() {
		if frozen.of(key) != nil {
			before[key] = s.serving.version(key)
			s.serving.takeBack(key, now)
			s.serving.unsettled[key] = struct{}{}
		}
	}
	change := s.adopt(nil, now)
	change.drop(before)
	for _, key := range slices.SortedFunc(maps.Keys(before), manifest.CompareKeys) {
		change.add(key, before[key], s.serving.version(key))
	}
	slices.SortFunc(change.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	slices.SortFunc(change.Gone, manifest.CompareKeys)
	slices.SortFunc(change.Invalid, compareInvalid)
	s.serving.fresh.sure = false
	change.Problems, change.Stale = s.problemLists.problems(), s.problemLists.stale()
	return change
}

// version is what Changes say of one key: the served object, and its Invalid. Both are nil if there is nothing.
type version struct {
	object  *manifest.Object
	invalid *Invalid
}

// version returns what the Changes so far say of a key.
func (s *serving) version(key manifest.Key) version {
	return version{s.served[key].object, s.invalid[key]}
}

// drop removes some keys from the Change.
func (c *Change) drop(keys map[manifest.Key]version) {
	among := func(key manifest.Key) bool { _, ok := keys[key]; return ok }
	c.Set = slices.DeleteFunc(c.Set, func(o *manifest.Object) bool { return among(o.Key) })
	c.Gone = slices.DeleteFunc(c.Gone, among)
	c.Invalid = slices.DeleteFunc(c.Invalid, func(i *Invalid) bool { return among(i.Key) })
}

// add adds the difference between two versions of a key to the Change.
func (c *Change) add(key manifest.Key, before, after version) {
	switch {
	case before.object == after.object && reflect.DeepEqual(before.invalid, after.invalid):
		return
	case after.object != nil:
		c.Set = append(c.Set, after.object)
		return
	case before.object != nil || after.invalid == nil:
		c.Gone = append(c.Gone, key)
	}
	if after.invalid != nil {
		c.Invalid = append(c.Invalid, after.invalid)
	}
}

// changed returns the keys that may differ from what was served at the last call of Applied. If that method was never
// called, nothing was served.
func (s *serving) changed() map[manifest.Key]struct{} {
	all := map[manifest.Key]struct{}{}
	for key := range s.history.previous {
		all[key] = struct{}{}
	}
	for key := range s.history.invalid {
		all[key] = struct{}{}
	}
	if !s.history.begun {
		for key := range s.served {
			all[key] = struct{}{}
		}
	}
	return all
}

// asBefore reports whether a key has the same version as at the last call of Applied, such as one that was taken back.
func (s *serving) asBefore(key manifest.Key) bool {
	object, invalid := s.served[key].object, s.invalid[key]
	before, known := s.history.previous[key]
	was, knownInvalid := s.history.invalid[key]
	return s.history.begun && (!known || before.object == object) && (!knownInvalid || reflect.DeepEqual(was, invalid))
}

// takeBack makes a key what it was at the last call of Applied.
func (s *serving) takeBack(key manifest.Key, now time.Time) {
	if _, absent := s.history.absent[key]; absent {
		return
	}
	if before, known := s.history.previous[key]; known || !s.history.begun {
		s.release(key, s.served[key].path())
		delete(s.served, key)
		s.saves.changed(key)
		if before.object != nil {
			s.served[key] = before
		}
		if before.kept != nil {
			s.keep(key, before, before.path(), now)
		}
	}
	if before, known := s.history.invalid[key]; known {
		if delete(s.invalid, key); before != nil {
			s.invalid[key] = before
		}
	}
}

// blame records why the namespace of a stale object is frozen, or with nil that it is frozen no more. It does nothing
// if the object of the key is not stale.
func (s *serving) blame(key manifest.Key, why *Reason) {
	at := s.served[key]
	if at.kept == nil {
		return
	}
	kept := *at.kept
	kept.frozen, at.kept = why, &kept
	s.served[key] = at
}

// settleFrozen is settle for a key that is frozen. The parameter inside has the definitions of which one would be
// served. It returns false if there is nothing to hold back: settle then decides as for other keys.
func (s *serving) settleFrozen(key manifest.Key, inside []*definition, now time.Time, change *Change) bool {
	why := s.frozen.of(key)
	if why == nil {
		return false
	}
	before, serving := s.served[key]
	_, absent := s.history.absent[key]
	switch {
	case s.isNewEdit(key, inside, before):
		delete(s.frozen.Held, key)
		delete(s.held, key)
		s.blame(key, nil)
		s.fresh.sure = false
		return false
	case absent, len(inside) == 0 && (!serving || s.keeps(before)):
		return false
	case len(inside) > 0 && serving && s.choose(preferred(inside), before).object.Same(before.object):
		return false
	}
	s.held[key] = struct{}{}
	delete(s.contested, key) // none of its definitions is served
	switch {
	case !serving:
	case s.fence.permits(before.path(), before.object):
		s.keep(key, before, before.path(), now)
		s.blame(key, why)
	default:
		s.remove(key, before, change)
	}
	return true
}
