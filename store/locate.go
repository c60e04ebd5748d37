package store

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// spot is a field of an object in a file (definition). It is the key of the map problemLists.places, which has the
// place of the field.
type spot struct {
	definition *definition
	field      string
}

// Locate returns the problems sorted, each with its file, line, column and excerpt.
//
// It adds no place if the problem has a file already. It adds only the file if the object is stale. For an object that is
// reported as Invalid, the place is that of the object's name, without an excerpt; for any other object that is not
// served, there is none. If a problem has a Cause, the message also names the place of the Cause.
//
// Locate caches its result: for the same problems (SameProblems) it returns the same slice until a place
// changes. The caller must change neither the argument nor the result.
func (s *Store) Locate(problems []manifest.Problem) []manifest.Problem {
	return s.problemLists.locateAll(problems)
}

// locateAll does what Locate describes.
func (s *problemLists) locateAll(problems []manifest.Problem) []manifest.Problem {
	if s.fresh.placed && SameProblems(problems, s.asked) {
		return s.located
	}
	objects := make(map[manifest.Key]struct{}, len(problems))
	located := make([]manifest.Problem, len(problems))
	s.places = s.placesFor(problems)
	for i, p := range problems {
		located[i], objects[p.Object] = p, struct{}{}
		if at, ok := s.serving.served[p.Object]; p.File == "" && ok {
			located[i] = s.locate(p, at)
		} else if p.File == "" {
			place := s.serving.placeOfInvalid(p.Object)
			located[i].File, located[i].Line, located[i].Column = place.File, place.Line, place.Column
		}
		if p.Cause.Object != (manifest.Key{}) {
			objects[p.Cause.Object] = struct{}{}
			located[i].Message += s.placeOf(p.Cause)
		}
		located[i].Hint += s.secretMaker(p)
		located[i] = s.unreadTarget(located[i])
	}
	manifest.SortProblems(located)
	s.asked, s.located = problems, located
	s.fresh.placed, s.fresh.objects = true, objects
	return located
}

// unreadTarget returns a problem about a target that does not exist. If a text that cannot be parsed may have the target,
// the problem says so, and names no other object that may be meant: that one may be open.
func (s *problemLists) unreadTarget(p manifest.Problem) manifest.Problem {
	at, i := s.serving.served[p.Object], 0
	if _, err := fmt.Sscanf(p.Field, "spec.targetRefs[%d].name", &i); err != nil || p.Code != "TargetNotFound" || at.object == nil {
		return p
	}
	targets := Targets(at.object)
	if i >= len(targets) {
		return p
	}
	target := targets[i].Key(p.Object.Namespace)
	if _, serving := s.serving.served[target]; serving {
		return p
	}
	for _, file := range slices.Sorted(maps.Keys(s.sources.flawed)) {
		for _, d := range s.sources.flawed[file].unparsed() {
			if s.serving.fence.admits(file, target) && slices.Contains(Words(string(d.text)), target.Name) {
				p.Message += fmt.Sprintf("; the text at %s:%d cannot be read, and may have it: until it is fixed, other routes of the same hostname serve its requests, without this policy", path.Join(s.prefix, file), d.line)
				p.Hint = "fix the text first"
				return p
			}
		}
	}
	return p
}

// placesFor finds the places of the fields that the problems name. In the result, each place is a Problem with
// only Line, Column and Excerpt, and with a Hint if the field has a variable (withVariable). Line counts from the beginning of the document. If a problem already has a file,
// only the field in its Cause is looked up. Fields of objects that are stale or not served are left out. placesFor
// reuses places of the previous call.
func (s *problemLists) placesFor(problems []manifest.Problem) map[spot]manifest.Problem {
	found, missing := make(map[spot]manifest.Problem, len(problems)), []spot(nil)
	want := func(key manifest.Key, field string) {
		at := s.serving.served[key]
		if at.definition == nil {
			return
		}
		here := spot{at.definition, field}
		if _, twice := found[here]; twice {
			return
		}
		known, ok := s.places[here]
		if found[here] = known; !ok {
			missing = append(missing, here)
		}
	}
	for _, p := range problems {
		if p.File == "" {
			want(p.Object, p.Field)
		}
		if p.Cause.Object != (manifest.Key{}) {
			want(p.Cause.Object, p.Cause.Path)
		}
	}
	slices.SortFunc(missing, func(a, b spot) int { return compareDefinitions(a.definition, b.definition) })
	var text showing
	for _, here := range missing {
		where := text.place(here.definition, here.field)
		found[here] = manifest.Problem{
			Line: where.line, Column: where.column, Excerpt: text.excerpt(here.definition, where), Hint: text.variable(here.definition, here.field),
		}
	}
	return found
}

// locate returns p with the place of its field, which placesFor has found. The parameter at is the served
// object of p. If that object is stale, the place is only the file.
func (s *problemLists) locate(p manifest.Problem, at served) manifest.Problem {
	p.File = at.path()
	d := at.definition
	if d == nil {
		return p
	}
	known := s.places[spot{d, p.Field}]
	p.Line, p.Column, p.Excerpt = known.Line+d.document.line-1, known.Column, known.Excerpt
	return withVariable(p, known.Hint)
}

// placeOf returns the file and line of a field as a suffix for messages, such as " (shop.yaml:12)". For a stale
// object it returns only the file. For an object that is reported as Invalid, the line is that of the object's
// name. placeOf returns "" for any other object that is not served, and for an Invalid object that is in no file.
func (s *problemLists) placeOf(field manifest.Field) string {
	at, ok := s.serving.served[field.Object]
	if !ok {
		if place := s.serving.placeOfInvalid(field.Object); place.File != "" {
			return fmt.Sprintf(" (%s:%d)", path.Join(s.prefix, place.File), place.Line)
		}
		return ""
	}
	p := s.locate(manifest.Problem{Field: field.Path}, at)
	if p.Line == 0 {
		return fmt.Sprintf(" (%s)", path.Join(s.prefix, p.File))
	}
	return fmt.Sprintf(" (%s:%d)", path.Join(s.prefix, p.File), p.Line)
}
