package store

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// Held is an edit of one object that is not applied: the version before it stays served.
type Held struct {
	Reason
	// Candidate is the version of the folder, nil if the folder no longer has the object.
	Candidate *manifest.Object
	// Problems are what is wrong with the edit, with their places.
	Problems []manifest.Problem
}

// heldProblems returns the problems of all held edits. Where a text has gone from its file, the problem is at that file.
func (s *serving) heldProblems() (all []manifest.Problem) {
	for key, held := range s.frozen.Held {
		for _, p := range held.Problems {
			if p.File == "" {
				p.File = s.served[key].path()
			}
			all = append(all, p)
		}
	}
	return all
}

// Held returns the edits that are held now. The caller must not change the result.
func (s *Store) Held() map[manifest.Key]Held { return s.serving.frozen.Held }

// isNewEdit reports whether the edit of a key is held, and its file now says something else than that edit. The parameter
// inside has the definitions of which one would be served, and before is the served version.
func (s *serving) isNewEdit(key manifest.Key, inside []*definition, before served) bool {
	held, single := s.frozen.Held[key]
	if _, whole := s.frozen.Namespaces[key.Namespace]; whole || !single || s.frozen.All != nil {
		return false
	}
	if len(inside) == 0 {
		return held.Candidate != nil
	}
	return held.Candidate == nil || !s.choose(preferred(inside), before).object.Same(held.Candidate)
}

// Edit is an object that differs from what was served at the last call of Applied. A field is nil if there was no such
// object, or if there is none now.
type Edit struct {
	Key           manifest.Key
	Before, After *manifest.Object
}

// Edits returns the edits since the last call of Applied that are applied now, sorted by key. Before that method or
// Restore was called, there are none.
func (s *Store) Edits() (edits []Edit) {
	if !s.history.begun {
		return nil
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.history.previous), manifest.CompareKeys) {
		before, after := s.history.previous[key].object, s.serving.served[key].object
		if _, withheld := s.history.withheld[key]; withheld {
			before = nil // nothing of it was served
		}
		if before != after {
			edits = append(edits, Edit{key, before, after})
		}
	}
	return edits
}

// Failures returns the keys whose definitions in the folder are invalid, by namespace and sorted: of stale objects, and of
// those that were never valid. It looks at some namespaces only.
func (s *Store) Failures(in map[string]bool) map[string][]manifest.Key {
	all := map[string][]manifest.Key{}
	add := func(key manifest.Key) {
		if in[key.Namespace] {
			all[key.Namespace] = append(all[key.Namespace], key)
		}
	}
	for _, keys := range s.serving.kept {
		for key := range keys {
			if in[key.Namespace] && s.serving.served[key].kept.frozen == nil {
				add(key)
			}
		}
	}
	for key := range s.serving.invalid {
		add(key)
	}
	for namespace, keys := range all {
		slices.SortFunc(keys, manifest.CompareKeys)
		all[namespace] = slices.Compact(keys)
	}
	return all
}

// Served returns the served version of an object, nil if there is none.
func (s *Store) Served(key manifest.Key) *manifest.Object { return s.serving.served[key].object }

// ServedIn returns the served objects of some namespaces whose keys are wanted, in no order.
func (s *Store) ServedIn(in map[string]bool, wanted func(manifest.Key) bool) (all []*manifest.Object) {
	for key, at := range s.serving.served {
		if in[key.Namespace] && wanted(key) {
			all = append(all, at.object)
		}
	}
	return all
}

// ServedOf returns the served objects whose keys are wanted, in no order.
func (s *Store) ServedOf(wanted func(manifest.Key) bool) (all []*manifest.Object) {
	for key, at := range s.serving.served {
		if wanted(key) {
			all = append(all, at.object)
		}
	}
	return all
}

// WordsOf returns the words in the folder's texts of an object: in its definitions, valid or not, and for a stale object in
// the texts of its file that cannot be parsed. A word may be there twice.
func (s *Store) WordsOf(key manifest.Key) (words []string) {
	if kept := s.serving.served[key].kept; kept != nil {
		for _, d := range s.sources.files[kept.path].unparsed() {
			words = append(words, Words(string(d.text))...)
		}
	}
	for _, d := range s.serving.found[key] {
		words = append(words, Words(string(d.document.text))...)
	}
	for _, r := range s.serving.rejected[key] {
		words = append(words, Words(string(r.document.text))...)
	}
	return words
}

// LocateApart does what Locate does, for a few problems beside the list that Locate is called with.
func (s *Store) LocateApart(problems []manifest.Problem) []manifest.Problem {
	lists, placed, objects := *s.problemLists, s.problemLists.fresh.placed, s.problemLists.fresh.objects
	located := s.problemLists.locateAll(problems)
	*s.problemLists = lists
	s.problemLists.fresh.placed, s.problemLists.fresh.objects = placed, objects
	return located
}

// Words returns the words of a text in their order (see wordsIn), without "-" and "." around them.
func Words(text string) []string {
	words := strings.FieldsFunc(text, notInWord)
	for i, word := range words {
		words[i] = strings.Trim(word, "-.")
	}
	return words
}
