package store

import (
	"fmt"
	"path"

	"github.com/gatefold/gatefold/store/manifest"
)

// spot is a field of an object.
type spot struct {
	definition *definition
	field      string
}

// Locate fills in file, line, column and excerpt of problems that name only their object and
// field, and sorts them. Problems of objects that are in no file get no place; those of stale
// objects get only the file. For the same list (SameProblems) it returns the same result as
// long as no place has changed. The caller must change neither.
func (s *Store) Locate(problems []manifest.Problem) []manifest.Problem {
	return s.standing.locateAll(problems)
}

// locateAll is Locate.
func (s *standing) locateAll(problems []manifest.Problem) []manifest.Problem {
	if s.fresh.placed && SameProblems(problems, s.asked) {
		return s.located
	}
	objects := make(map[manifest.Key]struct{}, len(problems))
	located := make([]manifest.Problem, len(problems))
	fresh := make(map[spot]manifest.Problem, len(problems))
	for i, p := range problems {
		located[i], objects[p.Object] = p, struct{}{}
		if at, ok := s.serving.served[p.Object]; ok && p.File == "" {
			located[i] = s.locate(p, at, fresh)
		}
		if p.Cause.Object != (manifest.Key{}) {
			objects[p.Cause.Object] = struct{}{}
			located[i].Message += s.placeOf(p.Cause, fresh)
		}
	}
	s.places = fresh
	manifest.SortProblems(located)
	s.asked, s.located = problems, located
	s.fresh.placed, s.fresh.objects = true, objects
	return located
}

// locate fills in one problem. Places found by this call and the one before
// are not looked for again.
func (s *standing) locate(p manifest.Problem, at served, fresh map[spot]manifest.Problem) manifest.Problem {
	p.File = at.path()
	d := at.definition
	if d == nil {
		return p
	}
	here := spot{d, p.Field}
	known, ok := fresh[here]
	if !ok {
		known, ok = s.places[here]
	}
	if !ok {
		known = d.locate(p.Field)
	}
	fresh[here] = known
	p.Line, p.Column, p.Excerpt = known.Line+d.document.line-1, known.Column, known.Excerpt
	return p
}

// placeOf returns the file and line of a field as a message has them behind its words, ""
// where the object is in no file.
func (s *standing) placeOf(field manifest.Field, fresh map[spot]manifest.Problem) string {
	at, ok := s.serving.served[field.Object]
	if !ok {
		if place := s.serving.placeOfInvalid(field.Object); place.File != "" {
			return fmt.Sprintf(" (%s:%d)", path.Join(s.prefix, place.File), place.Line)
		}
		return ""
	}
	p := s.locate(manifest.Problem{Field: field.Path}, at, fresh)
	if p.Line == 0 {
		return fmt.Sprintf(" (%s)", path.Join(s.prefix, p.File))
	}
	return fmt.Sprintf(" (%s:%d)", path.Join(s.prefix, p.File), p.Line)
}
