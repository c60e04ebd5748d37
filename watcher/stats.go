package watcher

import "sync/atomic"

// Stats are the figures of one Watch. It writes them as it goes; any goroutine
// may read them at any time. The zero value is ready.
type Stats struct {
	// Announced tells whether the system announces the changes of the whole
	// folder by events. Where it does not, scans find them, later.
	Announced atomic.Bool
	// Directories is how many directories have events.
	Directories atomic.Int64
	// Scans counts the scans of the whole tree, and ScanTime the nanoseconds of
	// CPU time that they took.
	Scans, ScanTime atomic.Int64
	// Names counts the names of which the system was asked, Reads the files that
	// were opened: an edit of one file should add one to each.
	Names, Reads atomic.Int64
	// Lost counts how often the system dropped events (an overflow); the whole
	// tree was scanned in their place.
	Lost atomic.Int64
	// Unannounced counts the changes that a scan found and no event had
	// announced, though the directory has events.
	Unannounced atomic.Int64
}
