package store

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Change is what one Tree (one reading of the folder) changed in the objects that gatefold serves. It is
// immutable.
type Change struct {
	// Set has the added and changed objects, sorted by key.
	Set []*manifest.Object
	// Gone has the keys of objects that are no longer served. It also has the keys of objects that were in
	// Invalid and no longer belong there, unless they are served now. It has no key of Set, and is sorted.
	Gone []manifest.Key
	// Invalid has objects without a served version, sorted by key. An object is listed if it became invalid. An object
	// that was invalid before is listed only if its Invalid changed, for example its mistakes or its targets. If a
	// version of the object was served until now, the object's key is also in Gone.
	Invalid []*Invalid
	// Problems has the current problems, new and old, in the order of SortProblems. If a file has very many
	// problems, not all are listed, and one problem (MoreProblems) has the number of the others.
	Problems []manifest.Problem
	// Ignored has the number of objects of each kind that gatefold does not use. It leaves out kinds for which
	// Problems has a warning.
	Ignored []Ignored
	// Stale has every object whose last valid version is served, sorted by key. If the list is equal to the list in the
	// previous Change, it is the same slice (SameStale).
	Stale []Stale
	// Hold says why the Tree was not applied, for example because the folder is empty or missing, and what to
	// do. It is "" if the Tree was applied. If it is not "", Set has only objects of Restore that no previous
	// Change had.
	Hold string
	// Waiting has the paths of files that changed and are not applied yet, because reading at least one of the
	// files takes long. The next Apply of the same Tree continues with these files.
	Waiting []string
	// Restored is true if the Tree was not applied (Hold), and Set has the objects that Store.Restore read.
	Restored bool
	// Stats are figures for the summary of a reload.
	Stats Stats
}

// Stats has the figures of one Apply.
type Stats struct {
	Files        int // files in the Tree
	FilesChanged int // files that are new, removed, or differ from the previous Tree
	Objects      int // objects that are served after the Apply
	Documents    int // documents parsed in this Apply
	Parse        time.Duration
	Validate     time.Duration
}
