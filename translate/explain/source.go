package explain

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// Source is a field of an object and the place where it is written. Line is 0 if the place is not known.
type Source struct {
	Object manifest.Key `json:"object"`
	Field  string       `json:"field,omitempty"`
	store.Place
}
