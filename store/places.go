package store

import (
	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
)

// Place is where a field or object is written. It is zero if that is in no file; for a stale
// object only File is set.
type Place struct {
	File string `json:"file,omitempty"`
	// Line and Column count from 1; the column counts characters.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Places returns the place of each field. For a field that is not written, the place is the
// last key or item on its path that is; for an Invalid object it is its name. It parses the
// documents of the objects again, each once.
func (s *Store) Places(fields []manifest.Field) []Place {
	places := make([]Place, len(fields))
	roots := map[*document]*yaml.Node{}
	for i, field := range fields {
		at, ok := s.serving.served[field.Object]
		if !ok {
			places[i] = s.serving.placeOfInvalid(field.Object)
			continue
		}
		places[i].File = at.path()
		d := at.definition
		if d == nil {
			continue
		}
		root, read := roots[d.document]
		if !read {
			root = d.document.root()
			roots[d.document] = root
		}
		where := d.find(root, field.Path)
		places[i].Line, places[i].Column = where.line+d.document.line-1, where.column
	}
	return places
}
