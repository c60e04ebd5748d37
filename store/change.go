package store

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Change is what one Tree changed. It is immutable.
type Change struct {
	// Set holds added and changed objects, sorted by key.
	Set []*manifest.Object
	// Gone holds the keys of objects that are no longer served, and of objects that are no
	// longer reported in Invalid. It has no key that Set has, and is sorted.
	Gone []manifest.Key
	// Invalid holds added and changed objects that are invalid and have no version that is
	// served, sorted by key. If a version was served before, its key is also in Gone.
	Invalid []*Invalid
	// Problems holds every current problem, new or old, in the order of SortProblems.
	Problems []manifest.Problem
	// Ignored counts the documents of kinds that gatefold does not use, by kind.
	Ignored []Ignored
	// Stale holds every object whose last valid version is served, sorted by key. If none
	// changed, it is the same list as in the previous Change (SameStale).
	Stale []Stale
	// Hold says why the Tree was not applied (an empty or missing folder), and what to do; ""
	// if it was applied. With a Hold, Set has only objects of Restore that no previous Change
	// had.
	Hold string
	// Waiting holds the paths of files that changed and are not applied, as one of them takes
	// long to read: the next Apply of the same Tree continues with them.
	Waiting []string
	// Restored is true if there is a Hold and Set holds objects of Restore.
	Restored bool
	// Stats are figures for the summary of a reload.
	Stats Stats
}

// Stats are the figures of one Apply.
type Stats struct {
	Files        int // files in the Tree
	FilesChanged int // files whose content differs from the Tree before, or that are new or gone
	Objects      int // objects held after the Apply
	Documents    int // documents parsed in this Apply
	Parse        time.Duration
	Validate     time.Duration
}
