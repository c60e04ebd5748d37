package store

import (
	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
)

// Place is where a field, an object or an error is written. It is zero if the object is in no file. Store.Places
// fills in only File for a stale object: its last valid version is served, but is not in the file any more.
type Place struct {
	File string `json:"file,omitempty"`
	// Line and Column count from 1. Column counts characters.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Places returns the place of each field. For a field that does not exist, Places returns the place of the last key
// or item on the field's path that exists. For a field of an Invalid object, it returns the place of the object's
// name. Places parses the documents of the objects again, each once.
func (s *Store) Places(fields []manifest.Field) []Place {
	return placesOf(fields, s.whereabouts)
}

// PlacesNow returns a function that does the same as Places, for the state of the Store at this moment. The
// results of the function stay the same after the Store applies other Trees.
func (s *Store) PlacesNow() func(fields []manifest.Field) []Place {
	known := make(map[manifest.Key]whereabouts, len(s.serving.served)+len(s.serving.invalid))
	for key := range s.serving.invalid {
		known[key] = s.whereabouts(key)
	}
	for key := range s.serving.served {
		at := s.whereabouts(key)
		if at.definition != nil {
			then := *at.definition // a copy, because Apply changes the definition
			at.definition = &then
		}
		known[key] = at
	}
	return func(fields []manifest.Field) []Place {
		return placesOf(fields, func(key manifest.Key) whereabouts { return known[key] })
	}
}

// whereabouts is where an object is. If definition is nil, place is the place of all fields. Otherwise placesOf
// finds the place of a field in the definition's document.
type whereabouts struct {
	place      Place
	definition *definition
}

// whereabouts returns where an object is. If the object is stale (see the type kept), the result has only the file,
// because the served version is not in the file any more. The result is zero if the object is in no file.
func (s *Store) whereabouts(object manifest.Key) whereabouts {
	at, ok := s.serving.served[object]
	if !ok {
		return whereabouts{place: s.serving.placeOfInvalid(object)}
	}
	return whereabouts{Place{File: at.path()}, at.definition}
}

// placesOf returns the place of each field. The second parameter is a function that returns where an object is.
// placesOf parses each document at most once.
func placesOf(fields []manifest.Field, of func(manifest.Key) whereabouts) []Place {
	places := make([]Place, len(fields))
	roots := map[*document]*yaml.Node{}
	for i, field := range fields {
		at := of(field.Object)
		places[i] = at.place
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
