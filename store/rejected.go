package store

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// rejectedDefinition is a rejectedObject with its file and document: an object that its schema rejects, or a
// policy in a document that cannot be read.
type rejectedDefinition struct {
	*rejectedObject
	file     *file
	document *document
}

// replaceRejected applies an edit of one file to the rejected definitions. It removes the rejected definitions that
// the file had before the edit, and adds those that the file has after the edit. It also adds the keys of all these
// definitions to the set touched. The caller then decides again, for each key in touched, which object is served.
func (s *serving) replaceRejected(e edit, touched map[manifest.Key]struct{}) {
	if e.before != nil {
		for _, r := range e.before.oddities().rejected {
			touched[r.key] = struct{}{}
			s.rejected[r.key] = slices.DeleteFunc(s.rejected[r.key], func(other *rejectedDefinition) bool { return other.file == e.before })
			if len(s.rejected[r.key]) == 0 {
				delete(s.rejected, r.key)
			}
		}
	}
	if e.after != nil {
		for _, r := range e.after.oddities().rejected {
			touched[r.key] = struct{}{}
			s.rejected[r.key] = append(s.rejected[r.key], r)
		}
	}
}

// reported returns the rejected definition whose mistakes are reported for a key that is not served. It is the
// first definition, by file and place, that has an Invalid and whose file may define objects of the namespace
// (fence.admits). The result is nil if there is none.
func (s *serving) reported(key manifest.Key) *rejectedDefinition {
	return s.firstRejected(key, func(r *rejectedDefinition) bool { return r.invalid != nil })
}

// invalidOf returns the Invalid of a key that is not served. It ignores a rejected definition if path policies
// forbid its file to define objects of the key's namespace. The result is the Invalid of the first remaining
// definition that has one (see reported), or nil if there is no such definition. If the key is the key of a policy,
// the result also has the targets of the other remaining definitions, and what they write. For a policy without a valid name, some
// targets are left out (see uncovered).
func (s *serving) invalidOf(key manifest.Key) *Invalid {
	first := s.reported(key)
	if first == nil {
		return nil
	}
	var others []*Invalid
	for _, r := range s.rejected[key] {
		if r != first && r.invalid != nil && len(r.invalid.Targets)+len(r.invalid.Identities) > 0 && s.fence.admits(r.file.path, key) {
			others = append(others, s.uncovered(r))
		}
	}
	words := func(i *Invalid) string { return fmt.Sprint(i.Targets, i.Identities, i.Extensions) }
	slices.SortStableFunc(others, func(a, b *Invalid) int { return strings.Compare(words(a), words(b)) })
	out := s.uncovered(first).withTargets(others)
	out.Source = first.file.source
	if out.Route != nil {
		route := *out.Route
		route.Source = out.Source
		out.Route = &route
	}
	return out
}

// firstRejected returns the first rejected definition of a key, by file and place, for which the function wanted
// returns true. It ignores a definition if path policies forbid its file to define objects of the key's namespace.
// The result is nil if no definition is left.
func (s *serving) firstRejected(key manifest.Key, wanted func(*rejectedDefinition) bool) *rejectedDefinition {
	var first *rejectedDefinition
	for _, r := range s.rejected[key] { // those of one file are in the order of their places
		if wanted(r) && (first == nil || r.file.path < first.file.path) && s.fence.admits(r.file.path, key) {
			first = r
		}
	}
	return first
}

// settleInvalid updates the Invalid of a key. It adds a new or changed Invalid to change.Invalid. If the key no
// longer has an Invalid and is not served, it adds the key to change.Gone. The method settle must run before,
// because it decides whether the key is served.
func (s *serving) settleInvalid(key manifest.Key, change *Change) {
	if len(s.rejected)+len(s.invalid) == 0 || standsForText(key) {
		return
	}
	var now *Invalid
	if _, serving := s.served[key]; !serving {
		now = s.invalidOf(key)
	}
	before := s.invalid[key]
	if s.frozen.Holds(key) && !reflect.DeepEqual(now, before) {
		s.held[key] = struct{}{}
		return
	}
	s.fresh.sure = s.fresh.sure && now == nil && before == nil
	s.replaceInvalid(key, now, change)
}

// replaceInvalid sets the Invalid of a key, nil for none, and adds what changes to change.
func (s *serving) replaceInvalid(key manifest.Key, now *Invalid, change *Change) {
	before := s.invalid[key]
	switch {
	case now != nil && !reflect.DeepEqual(now, before):
		s.history.rememberInvalid(key, before)
		s.invalid[key] = now
		change.Invalid = append(change.Invalid, now)
	case now == nil && before != nil:
		s.history.rememberInvalid(key, before)
		delete(s.invalid, key)
		if _, serving := s.served[key]; !serving {
			change.Gone = append(change.Gone, key)
		}
	}
}

func compareInvalid(a, b *Invalid) int { return manifest.CompareKeys(a.Key, b.Key) }

// touchNameless is called when the stale objects of some files (the parameter files) have changed. It adds the keys
// of all policies without a valid name (isNameless) in these files to the set touched. The caller then computes the
// Invalid of each of these keys again. This is necessary because the targets of such an Invalid depend on the stale
// policies of the same file (see uncovered).
func (s *serving) touchNameless(files map[string]struct{}, touched map[manifest.Key]struct{}) {
	for path := range files {
		if f := s.sources.files[path]; f != nil {
			for _, r := range f.oddities().rejected {
				if isNameless(r.key) {
					touched[r.key] = struct{}{}
				}
			}
		}
	}
}

// uncovered returns the Invalid of a rejected definition (r.invalid, which must not be nil). If the definition is a
// policy without a valid name, some targets are left out.
//
// The targets of an invalid policy answer an error. But a policy without a valid name may be the new version of a
// policy that is now stale: the file no longer has a valid definition of the stale policy, and its last valid version
// stays served. The name does not say which stale policy it is. So uncovered considers all stale policies of the same
// kind, namespace and file. Their last valid versions still protect their targets, so these targets need no error.
// These are the targets that are left out.
func (s *serving) uncovered(r *rejectedDefinition) *Invalid {
	if !r.invalid.Nameless || len(s.kept[r.file.path]) == 0 {
		return r.invalid
	}
	out := *r.invalid
	out.Targets = slices.DeleteFunc(slices.Clone(out.Targets), func(t Target) bool {
		for key := range s.kept[r.file.path] {
			if key.GroupKind() == out.Key.GroupKind() && key.Namespace == out.Key.Namespace && t.isOf(s.served[key].object) {
				return true
			}
		}
		return false
	})
	return &out
}
