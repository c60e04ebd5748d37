package store

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// contests returns the problems of objects with several definitions that could be served (serving.contested). Of
// each such object, one definition is served, and each other definition has a problem. contests leaves out the
// definitions that the path policies reject, because outsideProblems reports these definitions.
func (s *problemLists) contests() []manifest.Problem {
	var lost []*definition
	for key := range s.serving.contested {
		winner := s.serving.served[key].definition
		for _, d := range s.serving.found[key] {
			if d != winner && !s.serving.fence.rejects(d) {
				lost = append(lost, d)
			}
		}
	}
	slices.SortFunc(lost, compareDefinitions)
	var all []manifest.Problem
	var text showing
	for _, d := range lost {
		p := s.contest(d, s.serving.served[d.object.Key].definition)
		p.Excerpt = text.excerpt(d, d.place)
		all = append(all, p)
	}
	return all
}

// contest returns the problem of the definition d, which is not served. The parameter winner is the definition of
// the same object that is served. The problem is a warning if the two definitions have the same content, otherwise
// an error.
func (s *problemLists) contest(d, winner *definition) manifest.Problem {
	where := fmt.Sprintf("%s:%d", path.Join(s.prefix, winner.file.path), winner.line())
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
	return p
}

// keptProblems returns one warning for each file with stale objects. It leaves out objects of frozen namespaces.
func (s *problemLists) keptProblems() []manifest.Problem {
	var all []manifest.Problem
	for path, keys := range s.serving.kept {
		sorted := slices.DeleteFunc(slices.SortedFunc(maps.Keys(keys), manifest.CompareKeys), func(key manifest.Key) bool {
			return s.serving.served[key].kept.frozen != nil
		})
		if len(sorted) == 0 {
			continue
		}
		p := manifest.Problem{
			Code: "LastGoodKept", Severity: manifest.Warning, File: path, Object: sorted[0],
			Hint: "fix the errors in the file; an object is removed once the file is valid without it, or is deleted",
		}
		since := s.serving.served[sorted[0]].since()
		for _, key := range sorted {
			if t := s.serving.served[key].since(); t.Before(since) {
				since = t
			}
		}
		if len(sorted) > 1 {
			p.Object = manifest.Key{}
		}
		p.Message = "gatefold still serves the last valid version of " + keyList(sorted) + ": " + path + " has no valid one"
		if f := s.sources.files[path]; f != nil && f.blank {
			p.Code, p.Severity = "FileEmptied", manifest.Error
			p.Message = path + " is empty; gatefold still serves what it defined: " + keyList(sorted) + ", without a definition"
			p.Hint = "write the objects again; or remove the file, and with it the objects"
		}
		if !since.IsZero() {
			p.Message += " since " + since.UTC().Format(time.RFC3339)
		}
		known := func(key manifest.Key) bool { return !LacksUsers(s.serving.served[key].object) }
		if lacking := slices.DeleteFunc(sorted, known); len(lacking) > 0 {
			p.Message += "; the users of " + keyList(lacking) + " are not saved, so that its targets answer 500"
		}
		all = append(all, p)
	}
	return all
}

// mistakeProblems returns the problems of objects for which gatefold panicked while it decided which version to
// serve (settleSafely).
func (s *problemLists) mistakeProblems() []manifest.Problem {
	return slices.Collect(maps.Values(s.serving.mistakes))
}

// keyList returns keys as text. After ten keys, the text ends with the number of the keys that are left out.
func keyList(keys []manifest.Key) string {
	var names []string
	for _, key := range keys[:min(len(keys), 10)] {
		names = append(names, key.String())
	}
	if more := len(keys) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
