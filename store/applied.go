package store

import (
	"maps"

	"github.com/gatefold/gatefold/store/manifest"
)

// Applied tells the Store what its caller now serves: the Store's version of every object that is not in the map withheld.
// Of those, a closed copy is served, or nothing. For Edits and the saved state they are objects of which no version served.
func (s *Store) Applied(withheld map[manifest.Key]struct{}) {
	touched := s.touched(withheld)
	before := map[manifest.Key]*manifest.Object(nil)
	if s.digest.begun {
		before = s.liveOf(touched)
	}
	for key := range withheld {
		if _, known := s.history.withheld[key]; !known {
			s.saves.changed(key)
		}
	}
	for key := range s.history.withheld {
		if _, still := withheld[key]; !still {
			s.saves.changed(key)
		}
	}
	s.history.withheld = withheld
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
