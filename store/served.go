package store

import (
	"bytes"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// served is the object that serves under a key.
type served struct {
	object     *manifest.Object
	definition *definition // nil when it is kept: no definition is sound
	kept       *kept       // nil when it is not kept
}

// kept is an object that no sound definition is known of.
type kept struct {
	path  string    // the file that gave it
	twins bool      // it has twins: no sound version is known
	since time.Time // when that began
	text  []byte    // to be saved
}

// path is the file that gave the object; "" where none serves.
func (s served) path() string {
	switch {
	case s.kept != nil:
		return s.kept.path
	case s.definition != nil:
		return s.definition.file.path
	}
	return ""
}

// twins reports whether the object has twins: no sound version is known.
func (s served) twins() bool {
	return s.kept != nil && s.kept.twins || s.definition != nil && s.definition.twins
}

// since is when the object began to be kept; zero for one that is not.
func (s served) since() time.Time {
	if s.kept == nil {
		return time.Time{}
	}
	return s.kept.since
}

// saved is the text to be saved of what is served, for itself and not as a part of its file.
func (s served) saved() []byte {
	switch {
	case s.kept != nil:
		return s.kept.text
	case s.definition != nil:
		return bytes.Clone(s.definition.saved())
	}
	return nil
}
