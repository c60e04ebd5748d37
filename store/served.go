package store

import (
	"bytes"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// served is the object that is served under a key.
type served struct {
	object     *manifest.Object
	definition *definition // nil if the object is kept
	kept       *kept       // nil if the object is not kept
}

// kept has what is known of an object whose last valid version is served, because no valid definition of it
// exists.
type kept struct {
	path  string    // the file that should define the object
	twins bool      // the version has twins (see twinRules): no valid version is known
	since time.Time // when the object began to be kept
	text  []byte    // text for the saved state
}

// path returns the file of the object. It returns "" if no object is served.
func (s served) path() string {
	switch {
	case s.kept != nil:
		return s.kept.path
	case s.definition != nil:
		return s.definition.file.path
	}
	return ""
}

// hasConflictingListeners reports whether the served version has twins (see twinRules). If so, no valid version
// is known.
func (s served) hasConflictingListeners() bool {
	return s.kept != nil && s.kept.twins || s.definition != nil && s.definition.twins
}

// since returns the time at which the object began to be kept. It is zero if the object is not kept.
func (s served) since() time.Time {
	if s.kept == nil {
		return time.Time{}
	}
	return s.kept.since
}

// saved returns the text of the served object for the saved state. The text does not share the memory of its
// file. It returns nil if no object is served.
func (s served) saved() []byte {
	switch {
	case s.kept != nil:
		return s.kept.text
	case s.definition != nil:
		return bytes.Clone(s.definition.saved())
	}
	return nil
}
