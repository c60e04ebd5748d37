package store

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// serving has the served objects, and every definition that could be served.
type serving struct {
	sources     *sources
	fence       *fence
	history     *history
	saves       *saves
	fresh       *fresh
	keepNothing bool // Options.KeepNothing
	allowEmpty  bool // AllowEmpty was called before the present Tree

	served     map[manifest.Key]served
	found      map[manifest.Key][]*definition         // in the order of file and place
	contested  map[manifest.Key]struct{}              // keys with several definitions that could be served
	kept       map[string]map[manifest.Key]struct{}   // keys of stale objects (see the type kept), by file
	rejected   map[manifest.Key][]*rejectedDefinition // those of one file are in the order of the file
	invalid    map[manifest.Key]*Invalid              // what the Changes so far reported as invalid and not served
	unreadable map[string][]*unreadableText           // texts that may be policies and cannot be read, by file
	texts      map[manifest.Key]Place                 // the keys in invalid that stand for such texts, with the place of a text
	closed     map[manifest.Key]struct{}              // the served objects that are closed because of such texts
	unsettled  map[manifest.Key]struct{}              // keys for which the next Tree must decide again
	frozen     Frozen                                 // the frozen namespaces
	held       map[manifest.Key]struct{}              // keys that differ from their files because they are frozen
	mistakes   map[manifest.Key]manifest.Problem      // problems of keys for which a decision panicked
}

func newServing(options Options, files *sources) *serving {
	return &serving{
		sources: files, fence: files.fence,
		history: newHistory(),
		saves:   &saves{on: options.Save, secrets: options.SaveSecrets, unsaved: map[manifest.Key]struct{}{}, absent: map[manifest.Key]absentObject{}},
		fresh:   &fresh{}, keepNothing: options.KeepNothing,
		served: map[manifest.Key]served{}, found: map[manifest.Key][]*definition{}, contested: map[manifest.Key]struct{}{},
		kept: map[string]map[manifest.Key]struct{}{}, rejected: map[manifest.Key][]*rejectedDefinition{}, invalid: map[manifest.Key]*Invalid{},
		unreadable: map[string][]*unreadableText{}, texts: map[manifest.Key]Place{}, closed: map[manifest.Key]struct{}{},
		unsettled: map[manifest.Key]struct{}{}, held: map[manifest.Key]struct{}{}, mistakes: map[manifest.Key]manifest.Problem{},
	}
}

// replace applies an edit of one file: it removes the definitions that the file had before the edit, and adds the
// definitions that the file has after the edit. It adds their keys to touched, so that settle decides again which
// object is served under each of them.
func (s *serving) replace(e edit, touched map[manifest.Key]struct{}) {
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
	s.replaceRejected(e, touched)
	s.fresh.placed = s.fresh.placed && len(e.before.unparsed())+len(e.after.unparsed()) == 0 // see unreadTarget
	if delete(s.unreadable, e.path); e.after != nil && len(e.after.oddities().unreadable) > 0 {
		s.unreadable[e.path] = e.after.oddities().unreadable
	}
}

// carryOver keeps the definitions that an edit of a file does not change: those before the first change, and those
// after the last change. It updates the places of these definitions. It returns the other definitions: old are those
// of the file before the edit, and fresh are those after the edit.
func (s *serving) carryOver(e edit) (old, fresh []*definition) {
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

// settle decides which object is served under a key. If the served object changed, settle adds it to
// change.Set, or its key to change.Gone if none is served any more. The parameter now is the time from which
// the object is stale, if its last valid version stays served.
func (s *serving) settle(key manifest.Key, now time.Time, change *Change) {
	s.doubt(key)
	definitions := s.found[key]
	slices.SortFunc(definitions, compareDefinitions)
	inside := s.candidates(key, s.fence.inside(key, definitions))
	delete(s.contested, key)
	if len(inside) > 1 {
		s.contested[key] = struct{}{}
	}
	s.doubt(key)
	if s.settleFrozen(key, inside, now, change) {
		return
	}
	before, serving := s.served[key]
	if len(inside) > 0 {
		s.release(key, before.path())
		winner := s.choose(preferred(inside), before)
		object := winner.object
		if serving && before.object.Same(object) {
			object = before.object
			winner.item.object = object // so that only one of the two stays in memory
		} else {
			s.history.remember(key, before)
			change.Set = append(change.Set, object)
		}
		after := served{object: object, definition: winner}
		if object != before.object || after.path() != before.path() || before.definition == nil {
			s.saves.changed(key)
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
	if s.keepNothing || !s.keepMoved(key, before, now, change) {
		s.remove(key, before, change)
	}
}

// remove ends that an object is served. The parameter before is its version.
func (s *serving) remove(key manifest.Key, before served, change *Change) {
	s.release(key, before.path())
	s.saves.changed(key)
	s.history.remember(key, before)
	delete(s.served, key)
	change.Gone = append(change.Gone, key)
}

// preferred selects from the definitions of one object. It prefers the definitions in files that Options.ClusterPaths
// names. If no definition is in such a file, the result has all definitions. If the object is a Namespace and several
// of its definitions are preferred, the result has only the first of them. So the result does not depend on the order
// of edits.
func preferred(definitions []*definition) []*definition {
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

// choose returns the definition to serve. The parameter before is the version that is served now. If the file of
// this version still has definitions of the object, choose prefers them: it returns the one that is the same as the
// served version, or else the first one in the file. If the file has no definition, or if Options.KeepNothing is
// set, it returns the first of all definitions.
func (s *serving) choose(definitions []*definition, before served) *definition {
	own := definitions
	if s.keepNothing {
		return own[0]
	}
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

// candidates returns the definitions of which one may be served. The parameter inside has the definitions that the
// path policies accept. candidates leaves out definitions with duplicate listeners (see twinRules). If this leaves
// out all of them, there are two cases. If an earlier valid version stays served, the result is nil. If not, the
// result has all definitions of the parameter inside.
func (s *serving) candidates(key manifest.Key, inside []*definition) []*definition {
	best := withoutTwins(inside)
	if len(best) > 0 || len(inside) == 0 {
		return best
	}
	if before, serving := s.served[key]; serving && !before.hasConflictingListeners() && s.keeps(before) {
		return nil
	}
	return inside
}

// doubt marks lists of problems as outdated, so that they are computed again: those lists in which the key may
// occur. It is called if the served object of the key, or the place of the object, may change.
func (s *serving) doubt(key manifest.Key) {
	_, contested := s.contested[key]
	_, outside := s.fence.outside[key]
	_, target := s.fresh.targets[key]
	if contested || outside || target {
		s.fresh.sure = false
	}
	if _, ok := s.fresh.objects[key]; ok {
		s.fresh.placed = false
	}
}

// objects returns all served objects, sorted by key.
func (s *serving) objects() []*manifest.Object {
	objects := make([]*manifest.Object, 0, len(s.served))
	for _, at := range s.served {
		objects = append(objects, at.object)
	}
	slices.SortFunc(objects, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	return objects
}

// servedIn returns the served objects of a namespace, sorted by key.
func (s *serving) servedIn(namespace string) (objects []*manifest.Object) {
	for key, at := range s.served {
		if key.Namespace == namespace {
			objects = append(objects, at.object)
		}
	}
	slices.SortFunc(objects, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	return objects
}

// placeOfInvalid returns the place of an object that is reported as Invalid. The place is zero for other
// objects, and for an object that is in no file now (see Anew).
func (s *serving) placeOfInvalid(key manifest.Key) Place {
	if s.invalid[key] == nil {
		return Place{}
	}
	if at, isText := s.texts[key]; isText {
		return at
	}
	if r := s.reported(key); r != nil {
		return Place{File: r.file.path, Line: r.place.line + r.document.line - 1, Column: r.place.column}
	}
	if d := s.firstFound(key); d != nil { // a valid object that closeUnsettled made Invalid
		return Place{File: d.file.path, Line: d.line(), Column: d.place.column}
	}
	return Place{}
}

// firstFound returns the first valid definition of an object in a file that may define the object (see fence). It
// returns nil if there is none.
func (s *serving) firstFound(key manifest.Key) *definition {
	i := slices.IndexFunc(s.found[key], func(d *definition) bool { return s.fence.admits(d.file.path, key) })
	if i < 0 {
		return nil
	}
	return s.found[key][i]
}

// documentOf returns the document with the object of a key. The first choice is a document with an invalid
// definition of the object (firstRejected), and the second choice is the document from which the object is
// served. documentOf returns nil if there is neither.
func (s *serving) documentOf(key manifest.Key) *document {
	if r := s.firstRejected(key, func(*rejectedDefinition) bool { return true }); r != nil {
		return r.document
	}
	if at, ok := s.served[key]; ok && at.definition != nil {
		return at.definition.document
	}
	return nil
}
