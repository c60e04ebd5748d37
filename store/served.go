package store

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// served is the version of an object that is served under its key. It is zero if no version is served.
type served struct {
	object     *manifest.Object
	definition *definition // the definition in the folder; nil if the object is stale (see kept)
	kept       *kept       // nil if the object is not stale
}

// kept describes a stale object: the folder has no valid definition of the object any more, so the version that was
// served before stays served.
type kept struct {
	frozen *Reason   // why the object is frozen (Frozen); nil if its file has no valid definition
	path   string    // the file that should define the object
	twins  bool      // the version that stays served has duplicate listeners (see twinRules)
	since  time.Time // when the object became stale
	text   []byte    // the text that is saved for a restart (see served.saved)
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

// hasConflictingListeners reports whether the served version has duplicate listeners (see twinRules). If so, no
// valid version of the object is known.
func (s served) hasConflictingListeners() bool {
	return s.kept != nil && s.kept.twins || s.definition != nil && s.definition.twins
}

// since returns the time from which the object is stale. It is zero if the object is not stale.
func (s served) since() time.Time {
	if s.kept == nil {
		return time.Time{}
	}
	return s.kept.since
}
