package store

import "time"

// Change is what one Tree changed. It is a value: the store never touches it
// again.
type Change struct {
	// Set holds added and changed objects, sorted by key.
	Set []*Object
	// Gone holds the keys of removed objects, sorted: of those that serve no more, and
	// of those that are told of as Invalid no more, unless they are in Set.
	Gone []Key
	// Invalid holds added and changed objects that their schema refuses and that nothing
	// serves for, sorted by key. One that served is in Gone beside.
	Invalid []*Invalid
	// Problems holds every problem that stands now, new or old, in the order
	// of SortProblems.
	Problems []Problem
	// Hold says in one sentence why the Tree was not taken and what served
	// stays (an emptied or missing folder); "" when it was taken. Set is empty
	// then, but for what Restore brought and no Change before told of.
	Hold string
	// Restored tells that Set holds, beside a Hold, what Restore brought.
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
