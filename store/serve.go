package store

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// served is the object that serves under a key.
type served struct {
	object     *manifest.Object
	definition *definition // nil when it is kept: no definition is sound
	kept       *kept       // nil when it is not kept
}

// kept is an object that no sound definition is known of.
type kept struct {
	path  string    // the file that gave it
	twins bool      // it has twins: no sound version is known
	since time.Time // when that began
	text  []byte    // to be saved
}

// path is the file that gave the object; "" where none serves.
func (s served) path() string {
	switch {
	case s.kept != nil:
		return s.kept.path
	case s.definition != nil:
		return s.definition.file.path
	}
	return ""
}

// twins reports whether the object has twins: no sound version is known.
func (s served) twins() bool {
	return s.kept != nil && s.kept.twins || s.definition != nil && s.definition.twins
}

// since is when the object began to be kept; zero for one that is not.
func (s served) since() time.Time {
	if s.kept == nil {
		return time.Time{}
	}
	return s.kept.since
}

// take makes the edits the Store's own and gives what they change.
func (s *Store) take(edits []edit, now time.Time) Change {
	touched := map[manifest.Key]struct{}{}
	for _, e := range edits {
		s.replace(e, touched)
		s.noteUnread(e)
	}
	maps.Copy(touched, s.unsettled)
	clear(s.unsettled)
	var change Change
	for key := range touched {
		if key.Namespace == "" { // Namespaces say what may serve of the others
			s.settleSafely(key, now, &change)
		}
	}
	s.declare(touched)
	moved := map[string]struct{}{} // files of which other versions are kept than before
	for key := range touched {
		if key.Namespace == "" {
			continue
		}
		delete(s.selections, key.Namespace)
		if isNameless(key) {
			continue
		}
		before := s.served[key]
		s.settleSafely(key, now, &change)
		if after := s.served[key]; after.kept != before.kept {
			moved[before.path()], moved[after.path()] = struct{}{}, struct{}{}
		}
	}
	s.touchNameless(moved, touched)
	for key := range touched {
		if key.Namespace != "" && isNameless(key) {
			s.settleSafely(key, now, &change)
		}
	}
	s.completeRestored(&change)
	slices.SortFunc(change.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	slices.SortFunc(change.Gone, manifest.CompareKeys)
	slices.SortFunc(change.Invalid, compareInvalid)
	return change
}

// replace puts a file in the place of the one before and adds the keys that
// must be settled to touched.
func (s *Store) replace(e edit, touched map[manifest.Key]struct{}) {
	delete(s.files, e.path)
	if s.flawed[e.path] != nil || e.after != nil && e.after.flawed() {
		s.standing.sure = false
	}
	delete(s.flawed, e.path)
	if e.after != nil {
		s.files[e.path] = e.after
		if e.after.flawed() {
			s.flawed[e.path] = e.after
		}
	}
	for key := range s.kept[e.path] {
		touched[key] = struct{}{}
	}
	old, fresh := s.carryOver(e)
	for _, d := range old {
		key := d.object.Key
		touched[key] = struct{}{}
		s.found[key] = slices.DeleteFunc(s.found[key], func(other *definition) bool { return other == d })
	}
	for _, d := range fresh {
		key := d.object.Key
		touched[key] = struct{}{}
		s.found[key] = append(s.found[key], d)
	}
	s.replaceRefusals(e, touched)
}

// carryOver lets the definitions that an edit leaves alone, at the begin and
// the end of the file, live on in their new places. It gives those that go and
// those that come.
func (s *Store) carryOver(e edit) (old, fresh []*definition) {
	if e.before != nil {
		old = e.before.definitions
	}
	if e.after != nil {
		fresh = e.after.definitions
	}
	same := func(i, j int) bool {
		if old[i].object != fresh[j].object {
			return false
		}
		if old[i].document.line != fresh[j].document.line {
			s.doubt(old[i].object.Key)
		}
		*old[i] = *fresh[j]
		fresh[j] = old[i]
		return true
	}
	begin := 0
	for begin < min(len(old), len(fresh)) && same(begin, begin) {
		begin++
	}
	end, oldEnd := len(fresh), len(old)
	for min(end, oldEnd) > begin && same(oldEnd-1, end-1) {
		end, oldEnd = end-1, oldEnd-1
	}
	return old[begin:oldEnd], fresh[begin:end]
}

// settle decides which object serves under a key.
func (s *Store) settle(key manifest.Key, now time.Time, change *Change) {
	s.doubt(key)
	definitions := s.found[key]
	slices.SortFunc(definitions, func(a, b *definition) int {
		return cmp.Or(strings.Compare(a.file.path, b.file.path), cmp.Compare(a.order, b.order))
	})
	inside := s.candidates(key, s.inside(key, definitions))
	delete(s.contested, key)
	if len(inside) > 1 {
		s.contested[key] = struct{}{}
	}
	s.doubt(key)
	before, serving := s.served[key]
	if len(inside) > 0 {
		s.release(key, before.path())
		winner := choose(first(inside), before)
		object := winner.object
		if serving && before.object.Same(object) {
			object = before.object
			winner.item.object = object // not both
		} else {
			s.remember(key, before)
			change.Set = append(change.Set, object)
		}
		after := served{object: object, definition: winner}
		if object != before.object || after.path() != before.path() || before.definition == nil {
			s.changed(key)
		}
		s.served[key] = after
		return
	}
	if len(definitions) == 0 {
		delete(s.found, key)
	}
	if !serving {
		return
	}
	if s.keeps(before) {
		s.keep(key, before, before.path(), now)
		return
	}
	s.release(key, before.path())
	if s.keepMoved(key, before, now, change) {
		return
	}
	s.changed(key)
	s.remember(key, before)
	delete(s.served, key)
	change.Gone = append(change.Gone, key)
}

// first returns the definitions that go before the others: those of cluster paths; of
// Namespaces the first alone, so that which of two counts does not depend on the order of
// edits.
func first(definitions []*definition) []*definition {
	if definitions[0].file.source == manifest.AnyFile {
		return definitions
	}
	var platform []*definition
	for _, d := range definitions {
		if d.file.source == manifest.ClusterPaths {
			platform = append(platform, d)
		}
	}
	switch {
	case len(platform) == 0:
		return definitions
	case isNamespace(platform[0].object.Key):
		return platform[:1]
	}
	return platform
}

// choose returns the definition that serves: that of the file which serves
// already, and in it the unchanged one; else the first.
func choose(definitions []*definition, before served) *definition {
	own := definitions
	if i := slices.IndexFunc(definitions, func(d *definition) bool { return d.file.path == before.path() }); i >= 0 {
		own = definitions[i:]
		for _, d := range own {
			if d.file.path == before.path() && d.object.Same(before.object) {
				return d
			}
		}
	}
	return own[0]
}

// keeps reports whether an object serves on that its file defines no more: the file is
// broken, or puts an object where it may not, which may be this one, misnamed.
func (s *Store) keeps(before served) bool {
	path := before.path()
	f := s.files[path]
	if f == nil || !s.permits(path, before.object) {
		return false
	}
	return f.tally.broken > 0 || f.oddities().skipped != nil || before.object.Key.Namespace != "" && s.holdsOutside(f)
}

// keepMoved lets an object serve on that moved to another file, and broke there.
func (s *Store) keepMoved(key manifest.Key, before served, now time.Time, change *Change) bool {
	r := s.firstRefusal(key, func(*refusal) bool { return true })
	if r == nil || !s.permits(r.file.path, before.object) {
		return false
	}
	if r.file.source != before.object.Source {
		moved := *before.object
		moved.Source = r.file.source
		s.remember(key, before)
		before.object = &moved
		change.Set = append(change.Set, &moved)
	}
	s.keep(key, before, r.file.path, now)
	return true
}

// keep lets an object serve on that its broken file defines no more, or that came to
// the file of that path as what its schema refuses.
func (s *Store) keep(key manifest.Key, before served, path string, now time.Time) {
	after := before
	switch {
	case before.kept == nil:
		after.kept = &kept{path: path, twins: before.twins(), since: now}
		if s.options.Save {
			after.kept.text = bytes.Clone(before.definition.saved()) // not the whole file before
		}
		after.definition = nil
	case before.kept.path != path:
		moved := *before.kept
		moved.path = path
		after.kept = &moved
	}
	if after != before {
		s.served[key] = after
		s.changed(key)
	}
	if s.kept[path] == nil {
		s.kept[path] = map[manifest.Key]struct{}{}
	}
	s.kept[path][key] = struct{}{}
	s.standing.sure = false
}

// release ends the keeping of a key.
func (s *Store) release(key manifest.Key, path string) {
	if _, kept := s.kept[path][key]; kept {
		s.standing.sure = false
	}
	delete(s.kept[path], key)
	if len(s.kept[path]) == 0 {
		delete(s.kept, path)
	}
}

// keptProblems tells of each broken file what is kept of it.
func (s *Store) keptProblems() []manifest.Problem {
	var all []manifest.Problem
	for path, keys := range s.kept {
		sorted := slices.SortedFunc(maps.Keys(keys), manifest.CompareKeys)
		p := manifest.Problem{
			Code: "LastGoodKept", Severity: manifest.Warning, File: path, Object: sorted[0],
			Hint: "fix the errors in the file; an object is removed once the file is valid without it, or is deleted",
		}
		since := s.served[sorted[0]].since()
		for _, key := range sorted {
			if t := s.served[key].since(); t.Before(since) {
				since = t
			}
		}
		if len(sorted) > 1 {
			p.Object = manifest.Key{}
		}
		p.Message = "gatefold still serves the last valid version of " + list(sorted) + ": " + path + " has no valid one"
		if !since.IsZero() {
			p.Message += " since " + since.UTC().Format(time.RFC3339)
		}
		all = append(all, p)
	}
	return all
}

// contests tells of keys with several definitions which of them serves.
func (s *Store) contests() []manifest.Problem {
	var all []manifest.Problem
	for key := range s.contested {
		winner := s.served[key].definition
		for _, d := range s.found[key] {
			if d != winner && !s.refused(d) {
				all = append(all, s.contest(d, winner))
			}
		}
	}
	return all
}

// contest is about a definition beside the one that serves.
func (s *Store) contest(d, winner *definition) manifest.Problem {
	where := fmt.Sprintf("%s:%d", path.Join(s.options.PathPrefix, winner.file.path), winner.line())
	p := manifest.Problem{
		Code: "Conflict", Severity: manifest.Error, File: d.file.path, Line: d.line(), Column: d.place.column,
		Object: d.object.Key, Field: "metadata.name",
		Message: fmt.Sprintf("%s is defined in %s too, with other content; that one serves, this one does not", d.object.Key, where),
		Hint:    "remove one of the two, or give it another name or namespace",
	}
	if d.object.Hash == winner.object.Hash {
		p.Code, p.Severity = "Duplicate", manifest.Warning
		p.Message = fmt.Sprintf("%s is defined in %s too, with the same content", d.object.Key, where)
		p.Hint = "remove one of the two"
	}
	if d.shows() {
		p.Excerpt = excerpt(d.document.text, d.place)
	}
	return p
}

// list names at most ten keys.
func list(keys []manifest.Key) string {
	var names []string
	for _, key := range keys[:min(len(keys), 10)] {
		names = append(names, key.String())
	}
	if more := len(keys) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
