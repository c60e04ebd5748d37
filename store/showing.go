package store

import (
	"bytes"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// showing finds the places of fields in documents, and returns excerpts of these places. It keeps the parsed
// text of the document that was used last. So callers should ask for all places of one document one after
// another.
type showing struct {
	document *document
	root     *yaml.Node
	parsed   bool
	lines    [][]byte
	hidden   func() bool // whether the text may have the content of a Secret (see secretive)
	users    func() bool // whether the text may have users with password hashes (see listsUsers)
}

// begin makes s ready for a document. If s has another document, it discards that document's parsed text.
func (s *showing) begin(to *document) {
	if s.document == to {
		return
	}
	*s = showing{
		document: to,
		hidden:   sync.OnceValue(func() bool { return secretive(to.text) }),
		users:    sync.OnceValue(func() bool { return listsUsers(to.text) }),
	}
}

// place returns the place of a field in the definition's document.
func (s *showing) place(d *definition, field string) place {
	s.begin(d.document)
	if !s.parsed {
		s.root, s.parsed = d.document.root(), true
	}
	return d.find(s.root, field)
}

// excerpt returns the excerpt of a place in the definition's document. It returns "" if the text may have
// secret content.
func (s *showing) excerpt(d *definition, at place) string {
	s.begin(d.document)
	if s.hides(d) {
		return ""
	}
	if s.lines == nil {
		s.lines = bytes.Split(d.document.text, []byte{'\n'})
	}
	if at.line < 1 || at.line > len(s.lines) {
		return excerptLine(nil, at)
	}
	return excerptLine(s.lines[at.line-1], at)
}

// hides reports whether nothing of a definition may be shown, because it may have secret content.
func (s *showing) hides(d *definition) bool {
	return d.object.Key.Kind == kindSecret || s.users() || len(d.at()) > 0 && s.hidden()
}

// variable returns the hint about a variable in the value of a field, "" if there is none (variableHint), or if the
// text may have secret content. It must be called after place, with the same definition.
func (s *showing) variable(d *definition, field string) string {
	if s.root == nil || s.hides(d) {
		return ""
	}
	_, value := descend(s.root, slices.Concat(d.at(), parsePath(field)))
	return variableHint(value)
}
