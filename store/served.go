package store

import (
	"bytes"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// served is the object that is served under a key.
type served struct {
	object     *manifest.Object
	definition *definition // nil when it is kept: no definition is sound
	kept       *kept       // nil when it is not kept
}

// kept is an object whose last valid version is served, because there is no valid definition of it.
type kept struct {
	path  string    // the file that gave it
	twins bool      // it has twins: no sound version is known
	since time.Time // when that began
	text  []byte    // to be saved
}

// path returns the file that defined the object, "" if none is served.
func (s served) path() string {
	switch {
	case s.kept != nil:
		return s.kept.path
	case s.definition != nil:
		return s.definition.file.path
	}
	return ""
}

// twins reports whether the object has twins (twinRules). Then no valid version is known.
func (s served) twins() bool {
	return s.kept != nil && s.kept.twins || s.definition != nil && s.definition.twins
}

// since returns the time since when the object is kept, zero if it is not kept.
func (s served) since() time.Time {
	if s.kept == nil {
		return time.Time{}
	}
	return s.kept.since
}

// saved returns the text of the served object to be saved, without the rest of its file.
func (s served) saved() []byte {
	switch {
	case s.kept != nil:
		return s.kept.text
	case s.definition != nil:
		return bytes.Clone(s.definition.saved())
	}
	return nil
}
