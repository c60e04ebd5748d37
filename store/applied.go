package store

import (
	"maps"

	"github.com/gatefold/gatefold/store/manifest"
)

// Former returns the version of an object that was served when Applied was last called. In the result, the field
// Object is this version, or nil if no version was served. If the folder already had a newer version then, which
// cannot be used, the field Since is the time from which Object is served in place of it. Otherwise Since is zero.
func (s *Store) Former(key manifest.Key) Withheld {
	if former, ok := s.history.withheld[key]; ok {
		return former.Withheld
	}
	before, ok := s.history.previous[key]
	if !ok && s.history.begun {
		before = s.serving.served[key]
	}
	return Withheld{before.object, before.since()}
}

// Applied tells the Store what its caller serves: the objects of all Changes so far, except for the objects in
// the map withheld, which gatefold could not translate. For such an object, the map has the earlier version that
// is served instead. Applied ignores an earlier version that was not served at the previous call of Applied. If
// Options.Save is set, the methods Unsaved and Saved return these earlier versions from then on.
func (s *Store) Applied(withheld map[manifest.Key]Withheld) {
	for key, before := range s.history.previous {
		now, ok := withheld[key]
		if _, known := s.history.withheld[key]; known || !ok || before.object == nil || before.object.Hash != now.Object.Hash {
			continue
		}
		former := formerVersion{Withheld: now}
		if s.options.Save {
			former.text = before.saved()
		}
		s.history.withheld[key] = former
		s.saves.changed(key)
	}
	for key := range s.history.withheld {
		if _, ok := withheld[key]; !ok {
			delete(s.history.withheld, key)
			s.saves.changed(key)
		}
	}
	s.history.begun = true
	s.history.previous = map[manifest.Key]served{} // a new map, because a cleared map keeps its memory
}

// Anew returns a new Store with the objects that were served when Applied was last called. It replaces a Store
// that a panic left in an inconsistent state. The new Store reads every file of the first Tree (reading of the
// folder) that it applies. The error is that of New.
func (s *Store) Anew() (*Store, error) {
	fresh, err := New(s.options)
	if err != nil {
		return nil, err
	}
	objects := map[manifest.Key]served{}
	if s.history.begun {
		objects = maps.Clone(s.serving.served)
	}
	for key, before := range s.history.previous {
		if objects[key] = before; before.object == nil {
			delete(objects, key)
		}
	}
	next := fresh.serving
	namespaces := map[manifest.Key]struct{}{}
	for key, at := range objects {
		next.served[key] = at
		path := at.path()
		if next.sources.files[path] == nil {
			next.sources.files[path] = &file{path: path, source: s.fence.sourceOf(path)}
		}
		next.unsettled[key] = struct{}{}
		if isNamespace(key) {
			namespaces[key] = struct{}{}
		}
		if at.kept != nil {
			next.keep(key, at, path, at.since())
		}
	}
	for key := range s.serving.invalid {
		next.unsettled[key] = struct{}{}
	}
	next.invalid = s.serving.invalid
	next.history.withheld, next.history.begun = s.history.withheld, s.history.begun
	*next.saves = *s.saves
	next.declare(namespaces)
	return fresh, nil
}
