package store

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Withheld is the version of an object that is served in place of the folder's version, which
// gatefold could not translate, and since when.
type Withheld struct {
	Object *manifest.Object
	Since  time.Time
}

// formerVersion is what a Withheld needs beside, to be saved.
type formerVersion struct {
	Withheld
	text []byte
}

// remember notes what was served under a key before a Change, the zero value for nothing.
func (s *Store) remember(key manifest.Key, before served) {
	if _, known := s.previous[key]; !known && s.begun { // else nothing was served
		s.previous[key] = before
	}
}

// Former returns the version of an object that was served when Applied was last called, and
// since when it has been served in place of a newer one. Object is nil if there is none.
func (s *Store) Former(key manifest.Key) Withheld {
	if former, ok := s.withheld[key]; ok {
		return former.Withheld
	}
	before, ok := s.previous[key]
	if !ok && s.begun {
		before = s.served[key]
	}
	return Withheld{before.object, before.since()}
}

// Applied records that all Changes so far are served, except for the withheld objects: of those
// an earlier version is served, and that version is saved.
func (s *Store) Applied(withheld map[manifest.Key]Withheld) {
	for key, before := range s.previous {
		now, ok := withheld[key]
		if _, known := s.withheld[key]; known || !ok || before.object == nil || before.object.Hash != now.Object.Hash {
			continue
		}
		former := formerVersion{Withheld: now}
		if s.options.Save {
			former.text = before.saved()
		}
		s.withheld[key] = former
		s.changed(key)
	}
	for key := range s.withheld {
		if _, ok := withheld[key]; !ok {
			delete(s.withheld, key)
			s.changed(key)
		}
	}
	s.begun = true
	s.previous = map[manifest.Key]served{} // an emptied one keeps the room of all objects of the start
}

// saved is the text to be saved of what is served, for itself and not as a part of its file.
func (s served) saved() []byte {
	switch {
	case s.kept != nil:
		return s.kept.text
	case s.definition != nil:
		return bytes.Clone(s.definition.saved())
	}
	return nil
}

// Anew returns a new Store that starts from what was served when Applied was last called. It
// reads the next Tree as a whole. Use it for a Store that a panic left in an inconsistent
// state. It returns the same errors as New.
func (s *Store) Anew() (*Store, error) {
	fresh, err := New(s.options)
	if err != nil {
		return nil, err
	}
	serving := map[manifest.Key]served{}
	if s.begun {
		serving = maps.Clone(s.served)
	}
	for key, before := range s.previous {
		if serving[key] = before; before.object == nil {
			delete(serving, key)
		}
	}
	namespaces := map[manifest.Key]struct{}{}
	for key, at := range serving {
		fresh.served[key] = at
		path := at.path()
		if fresh.files[path] == nil {
			fresh.files[path] = &file{path: path, source: s.sourceOf(path)}
		}
		fresh.unsettled[key] = struct{}{}
		if isNamespace(key) {
			namespaces[key] = struct{}{}
		}
		if at.kept != nil {
			fresh.keep(key, at, path, at.since())
		}
	}
	for key := range s.invalid {
		fresh.unsettled[key] = struct{}{}
	}
	fresh.invalid, fresh.withheld, fresh.unsaved, fresh.absent = s.invalid, s.withheld, s.unsaved, s.absent
	fresh.restored, fresh.begun = s.restored, s.begun
	fresh.declare(namespaces)
	return fresh, nil
}

// settleSafely decides which object serves under a key. A panic costs that object: what was
// served stays, a policy without such a version closes its targets, and a problem tells.
func (s *Store) settleSafely(key manifest.Key, now time.Time, change *Change) {
	before, serving := s.served[key]
	set, gone, invalid := len(change.Set), len(change.Gone), len(change.Invalid)
	defer func() {
		if recover() == nil {
			return
		}
		change.Set, change.Gone, change.Invalid = change.Set[:set], change.Gone[:gone], change.Invalid[:invalid]
		s.unsettle(key, before, serving, PanickedAt(maxMistakePlaces), change)
	}()
	if _, mistaken := s.mistakes[key]; mistaken {
		delete(s.mistakes, key)
		s.standing.sure = false
	}
	s.settle(key, now, change)
	s.settleInvalid(key, change)
}

// unsettle leaves what was served under a key, after a panic at the places.
func (s *Store) unsettle(key manifest.Key, before served, serving bool, places []string, change *Change) {
	p := manifest.Problem{
		Code: InternalError, Severity: manifest.Error, Object: key, Hint: ReportHint,
		Message: "gatefold could not apply this object, which is a mistake in gatefold (at " + strings.Join(places, " < ") + ")",
	}
	if definitions := s.found[key]; len(definitions) > 0 {
		d := definitions[0]
		p.File, p.Line, p.Column = d.file.path, d.line(), d.place.column
		if !serving {
			s.closeUnsettled(d.object, p.Message, change)
		}
	}
	s.standing.sure = false
	delete(s.contested, key)
	if delete(s.served, key); serving {
		s.served[key] = before
		if before.kept != nil {
			s.keep(key, before, before.path(), before.since())
		}
		p.Message += "; what was served before is still served"
	}
	s.mistakes[key] = p
	s.unsettled[key] = struct{}{}
}

// closeUnsettled tells of an object that is not served as of an invalid one.
func (s *Store) closeUnsettled(o *manifest.Object, why string, change *Change) {
	if invalid := Withhold(o, why); invalid != nil {
		s.invalid[o.Key] = invalid
		change.Invalid = append(change.Invalid, invalid)
	}
}

// mistakeProblems returns the problems of keys that could not be settled.
func (s *Store) mistakeProblems() []manifest.Problem {
	return slices.Collect(maps.Values(s.mistakes))
}
