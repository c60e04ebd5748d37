package store

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Change is what one Tree changed. It is a value: the store never touches it
// again.
type Change struct {
	// Set holds added and changed objects, sorted by key.
	Set []*manifest.Object
	// Gone holds the keys of removed objects, sorted: of those that serve no more, and
	// of those that are told of as Invalid no more, unless they are in Set.
	Gone []manifest.Key
	// Invalid holds added and changed objects that their schema refuses and that nothing
	// serves for, sorted by key. One that served is in Gone beside.
	Invalid []*Invalid
	// Problems holds every problem that stands now, new or old, in the order
	// of SortProblems.
	Problems []manifest.Problem
	// Ignored counts the documents of the folder that are none of gatefold's, by kind.
	Ignored []Ignored
	// Stale holds every object whose last valid version is served now, sorted by key. It
	// is the list of the Change before where none changed (SameStale).
	Stale []Stale
	// Hold says why the Tree was not taken and what served stays (an emptied or
	// missing folder), and what to do; "" when it was taken. Set is empty
	// then, but for what Restore brought and no Change before told of.
	Hold string
	// Restored is true if Set holds, beside a Hold, what Restore brought.
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
