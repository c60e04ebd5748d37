package store

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Stale is an object of which an earlier version is served, for one of these reasons:
//   - The folder has no valid version of the object. For example, the object's document is invalid, the object's file
//     is skipped, or the file has an error and the object is no longer found in it.
//   - The object, or its namespace, is frozen (Store.Freeze).
type Stale struct {
	Key manifest.Key
	// Since is the time from which the earlier version is served for that reason. The saved state keeps it over
	// a restart.
	Since time.Time
	// Place is the place of the error that makes the object stale. Line is 0 if the error is about the whole
	// file.
	Place
	// Targets are the targets of a policy: the objects in its targetRefs, and the served objects that its
	// targetSelectors select. Of the selected objects, only the first maxSelected are listed. Targets is empty
	// for other kinds.
	Targets []manifest.Key
	// Message is the message of the error that makes the object stale. It is "" if the file has no error.
	Message string
	// Stage is the stage at which the folder's version fails.
	Stage Stage
	// Protects is true if the edit that is not applied may take away access: it is that of a policy that protects, of what
	// such a policy uses, or of what allows references. The caller of the Store sets it.
	Protects bool
	// Unsaved is true if the saved state does not have the version that is served: after a restart, the object is new.
	Unsaved bool
}

// Stage is the stage at which an edit fails, so that it is not applied.
type Stage string

// The stages of an edit, in their order. An edit that an Envoy rejects makes no object stale.
const (
	StageRead      Stage = "read"      // the text cannot be read: it is no YAML, or its file is empty or cannot be read
	StageCheck     Stage = "check"     // the schema refuses the object
	StageTranslate Stage = "translate" // the object has an error, or waits for another object
	StageFrozen    Stage = "frozen"    // the folder or the namespace is frozen, because of an error or a test of any object
)

// Stages returns all stages.
func Stages() []Stage { return []Stage{StageRead, StageCheck, StageTranslate, StageFrozen} }

// stageOf returns the stage at which the folder's version of a stale object fails.
func (s *serving) stageOf(key manifest.Key) Stage {
	_, namespace := s.frozen.Namespaces[key.Namespace]
	switch {
	case s.served[key].kept.frozen != nil && (namespace || s.frozen.All != nil):
		return StageFrozen
	case s.served[key].kept.frozen != nil:
		return StageTranslate
	case s.firstRejected(key, func(*rejectedDefinition) bool { return true }) != nil || len(s.fence.inside(key, s.found[key])) > 0:
		return StageCheck
	}
	return StageRead
}

// maxSelected limits the list of objects that the targetSelectors of one stale policy select. Without a limit, the
// lists of many policies could become very long.
const maxSelected = 64

// Equal reports whether s and other have the same content.
func (s Stale) Equal(other Stale) bool { return reflect.DeepEqual(s, other) }

// SameStale reports whether two lists are the same slice in memory, or are both empty. If it returns false, the
// lists may still have equal elements.
func SameStale(a, b []Stale) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// stale returns every stale object, sorted by key. If nothing changed, it returns the same slice as before.
func (s *problemLists) stale() []Stale {
	s.problems()
	s.selectAgain()
	return s.lastStale
}

// selectAgain updates Stale.Targets of the policies with targetSelectors, in namespaces that changed. The method
// s.problems updates Stale.Targets, too. But it does nothing after a change that cannot affect problems, and such a
// change may still affect which objects a policy selects.
func (s *problemLists) selectAgain() {
	list := s.lastStale
	for i := range list {
		if !kindOf(list[i].Key.GroupKind()).policy() {
			continue
		}
		policy := s.serving.served[list[i].Key].object
		if !hasSelectors(policy) || s.selections[policy.Key.Namespace].knows(policy.Key) {
			continue
		}
		if targets := s.targetsOf(policy); !slices.Equal(targets, list[i].Targets) {
			if SameStale(list, s.lastStale) { // the caller's list must not change
				list = slices.Clone(list)
			}
			list[i].Targets = targets
		}
	}
	s.lastStale = list
}

// staleOf returns the stale objects as Stales, sorted by key. The parameter problems has all problems, sorted. Each
// Stale has the place and message of the error that makes the object stale (causes.of).
func (s *problemLists) staleOf(problems []manifest.Problem) []Stale {
	causes := causesOf(problems)
	var all []Stale
	for path, keys := range s.serving.kept {
		for key := range keys {
			at, cause := s.serving.served[key], causes.of(path, key)
			one := Stale{
				Key: key, Since: at.since(), Targets: s.targetsOf(at.object), Message: cause.Message,
				Place: Place{File: path, Line: cause.Line, Column: cause.Column}, Stage: s.serving.stageOf(key),
				Unsaved: s.serving.saves.lost(key, at.object),
			}
			if why := at.kept.frozen; why != nil {
				one.Place, one.Message = why.Place, why.Message
				one.File = cmp.Or(one.File, path)
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Stale) int { return manifest.CompareKeys(a.Key, b.Key) })
	return all
}

// targetsOf returns the objects that a policy names in targetRefs, and at most maxSelected objects that it
// selects by labels, each once. It returns nil for other kinds.
func (s *problemLists) targetsOf(o *manifest.Object) (targets []manifest.Key) {
	seen := map[manifest.Key]bool{}
	add := func(target manifest.Key) {
		if !seen[target] {
			seen[target] = true
			targets = append(targets, target)
		}
	}
	for _, target := range NamedTargets(o) {
		add(target)
	}
	if hasSelectors(o) {
		for _, key := range s.selected(o) {
			add(key)
		}
	}
	return targets
}

// selection caches, for one namespace, the objects that are selected by the targetSelectors of stale policies. It is
// computed again only after a change in that namespace.
type selection struct {
	objects []*manifest.Object              // the served objects of the namespace, sorted by key
	by      map[manifest.Key][]manifest.Key // the keys of the selected objects, by the key of the policy
}

// knows reports whether the selection has the targets of a policy. It returns false for a nil selection.
func (s *selection) knows(policy manifest.Key) bool {
	if s == nil {
		return false
	}
	_, known := s.by[policy]
	return known
}

// selected returns the keys of the served objects that a selector of the policy selects, sorted. It returns at
// most maxSelected keys.
func (s *problemLists) selected(policy *manifest.Object) []manifest.Key {
	in := s.selections[policy.Key.Namespace]
	if in == nil {
		in = &selection{objects: s.serving.servedIn(policy.Key.Namespace), by: map[manifest.Key][]manifest.Key{}}
		s.selections[policy.Key.Namespace] = in
	}
	keys, known := in.by[policy.Key]
	if !known {
		targets := Targets(policy)
		for _, object := range in.objects {
			if len(keys) == maxSelected {
				break
			}
			if slices.ContainsFunc(targets, func(t Target) bool { return t.Name == "" && t.Selects(object.Key, object.Value.GetLabels()) }) {
				keys = append(keys, object.Key)
			}
		}
		in.by[policy.Key] = keys
	}
	return keys
}
