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

// problems returns the problems of all held edits.
func (f Frozen) problems() (all []manifest.Problem) {
	for _, held := range f.Held {
		all = append(all, held.Problems...)
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
		if before != after {
			edits = append(edits, Edit{key, before, after})
		}
	}
	return edits
}

// Failures returns the keys of a namespace whose definitions in the folder are invalid, sorted: of stale objects, and of
// those that were never valid.
func (s *Store) Failures(namespace string) (failed []manifest.Key) {
	all := map[manifest.Key]struct{}{}
	for _, keys := range s.serving.kept {
		for key := range keys {
			if key.Namespace == namespace && s.serving.served[key].kept.frozen == nil {
				all[key] = struct{}{}
			}
		}
	}
	for key := range s.serving.invalid {
		if key.Namespace == namespace {
			all[key] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(all), manifest.CompareKeys)
}

// Served returns the served version of an object, nil if there is none.
func (s *Store) Served(key manifest.Key) *manifest.Object { return s.serving.served[key].object }

// ServedIn returns the served objects of a namespace whose keys are wanted, sorted by key.
func (s *Store) ServedIn(namespace string, wanted func(manifest.Key) bool) []*manifest.Object {
	return slices.DeleteFunc(s.serving.servedIn(namespace), func(o *manifest.Object) bool { return !wanted(o.Key) })
}

// Mentions reports whether one of the words stands in the folder's texts of an object: in its definitions, valid or not,
// and for a stale object in the texts of its file that cannot be parsed.
func (s *Store) Mentions(key manifest.Key, words map[string]struct{}) bool {
	in := func(text []byte) bool {
		for word := range words {
			if HasWord(string(text), word) {
				return true
			}
		}
		return false
	}
	if kept := s.serving.served[key].kept; kept != nil && s.sources.files[kept.path] != nil {
		for _, d := range s.sources.files[kept.path].documents {
			if d.remarks().unparsed && in(d.text) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.serving.found[key], func(d *definition) bool { return in(d.document.text) }) ||
		slices.ContainsFunc(s.serving.rejected[key], func(r *rejectedDefinition) bool { return in(r.document.text) })
}

// Words returns the words of a text (see HasWord).
func Words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c > 127 || !ofWord(byte(c)) })
}

// HasWord reports whether a text has a word. Words are as long as possible, and of letters, digits, "-" and ".", as names of
// objects are.
func HasWord(text, word string) bool {
	for from := 0; word != ""; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(word)
		if (begin == 0 || !ofWord(text[begin-1])) && (end == len(text) || !ofWord(text[end])) {
			return true
		}
		from = begin + 1
	}
	return false
}

// ofWord reports whether a byte belongs to a word.
func ofWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.'
}
