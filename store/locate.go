package store

import (
	"fmt"
	"path"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
)

// place is where something stands in a text: its line and column from 1, and
// how many characters of the line it takes, at least 1.
type place struct {
	line, column, width int
}

// find returns the place of the value that path leads to. Where it leads to
// nothing, it is the place of the last key or item on the way that is there.
func find(root *yaml.Node, path fieldPath) place {
	at, value := descend(root, path)
	if value != nil && value.Kind == yaml.ScalarNode && value.Value != "" {
		at = value
	}
	return placeOf(at)
}

// findKey returns the place of the last key or item on the path that is there.
func findKey(root *yaml.Node, path fieldPath) place {
	at, _ := descend(root, path)
	return placeOf(at)
}

// descend returns the last key or item on the path that is there, and the value that the
// path leads to, nil for none.
func descend(root *yaml.Node, path fieldPath) (at, value *yaml.Node) {
	at, value = root, root
	for _, s := range path {
		key, below := child(value, s)
		if below == nil {
			return at, nil
		}
		at, value = key, below
	}
	return at, value
}

// child returns the value that the step leads to, and its key; an item of a list
// is its own key.
func child(n *yaml.Node, s step) (key, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode && !s.named && s.index < len(n.Content) {
		return n.Content[s.index], n.Content[s.index]
	}
	if n.Kind != yaml.MappingNode || !s.named {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name, err := keyName(n.Content[i]); err == nil && name == s.key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

func placeOf(n *yaml.Node) place {
	width := 1
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		width = max(1, utf8.RuneCountInString(n.Value))
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			width += 2
		}
	}
	return place{n.Line, n.Column, width}
}

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
	if last := &s.standing; last.located != nil && SameProblems(problems, last.asked) {
		return last.located
	}
	objects := make(map[manifest.Key]struct{}, len(problems))
	located := make([]manifest.Problem, len(problems))
	fresh := make(map[spot]manifest.Problem, len(problems))
	for i, p := range problems {
		located[i], objects[p.Object] = p, struct{}{}
		if at, ok := s.served[p.Object]; ok && p.File == "" {
			located[i] = s.locate(p, at, fresh)
		}
		if p.Cause.Object != (manifest.Key{}) {
			objects[p.Cause.Object] = struct{}{}
			located[i].Message += s.placeOf(p.Cause, fresh)
		}
	}
	s.located = fresh
	manifest.SortProblems(located)
	s.standing.asked, s.standing.located, s.standing.objects = problems, located, objects
	return located
}

// locate fills in one problem. Places found by this call and the one before
// are not looked for again.
func (s *Store) locate(p manifest.Problem, at served, fresh map[spot]manifest.Problem) manifest.Problem {
	p.File = at.path()
	d := at.definition
	if d == nil {
		return p
	}
	here := spot{d, p.Field}
	known, ok := fresh[here]
	if !ok {
		known, ok = s.located[here]
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
func (s *Store) placeOf(field manifest.Field, fresh map[spot]manifest.Problem) string {
	at, ok := s.served[field.Object]
	if !ok {
		if place := s.placeOfInvalid(field.Object); place.File != "" {
			return fmt.Sprintf(" (%s:%d)", path.Join(s.options.PathPrefix, place.File), place.Line)
		}
		return ""
	}
	p := s.locate(manifest.Problem{Field: field.Path}, at, fresh)
	if p.Line == 0 {
		return fmt.Sprintf(" (%s)", path.Join(s.options.PathPrefix, p.File))
	}
	return fmt.Sprintf(" (%s:%d)", path.Join(s.options.PathPrefix, p.File), p.Line)
}

// locate finds the place of a field in the text of the definition's document.
func (d *definition) locate(field string) (p manifest.Problem) {
	where := d.find(d.document.root(), field)
	p.Line, p.Column = where.line, where.column
	if d.shows() {
		p.Excerpt = excerpt(d.document.text, where)
	}
	return p
}

// shows reports whether lines of the definition's text may be shown.
func (d *definition) shows() bool {
	return d.object.Key.Kind != "Secret" && (len(d.at()) == 0 || !secretive(d.document.text))
}
