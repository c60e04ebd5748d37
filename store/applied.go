package store

import (
	"maps"

	"github.com/gatefold/gatefold/store/manifest"
)

// Former returns the version of an object that was served at the last call of Applied. In the result, the field
// Object is this version, or nil if no version was served. The field Since is usually zero. It is set if the folder
// had, at that call, a newer version that could not be used. Since is then the time from which Object was served
// instead of the newer version.
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

// Applied tells the Store what its caller now serves. The caller serves the Store's version of every object, except
// for the objects in the map withheld: gatefold could not translate the Store's version of these objects. For each
// such object, the map has the earlier version that is served instead, or none. The earlier version must be the version that
// was served at the previous call of Applied; any other version is ignored. If Options.Save is set, the methods
// Unsaved and Saved return the earlier versions from now on.
func (s *Store) Applied(withheld map[manifest.Key]Withheld) {
	touched := s.touched(withheld)
	before := map[manifest.Key]*manifest.Object(nil)
	if s.digest.begun {
		before = s.liveOf(touched)
	}
	for key, now := range withheld {
		if former, known := s.history.withheld[key]; now.Object == nil && (!known || former.Object != nil) {
			s.history.withheld[key] = formerVersion{}
			s.saves.changed(key)
		}
	}
	for key, before := range s.history.previous {
		now, ok := withheld[key]
		if ok && now.Object == nil {
			continue
		}
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
	s.history.invalid, s.history.absent = map[manifest.Key]*Invalid{}, map[manifest.Key]struct{}{}
	s.digest.update(before, s.liveOf(touched))
}

// Anew returns a new Store, which replaces a Store that a panic left in an inconsistent state. The new Store serves
// the objects that were served at the last call of Applied. It has no content of files, so its first call of Apply
// reads every file of the folder. Anew returns an error only if New does.
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
			next.blame(key, nil)
		}
	}
	for key := range s.serving.invalid {
		next.unsettled[key] = struct{}{}
	}
	next.invalid, next.texts, next.closed = s.serving.invalid, s.serving.texts, s.serving.closed
	next.history.withheld, next.history.begun = s.history.withheld, s.history.begun
	*next.saves = *s.saves
	next.declare(namespaces)
	return fresh, nil
}
