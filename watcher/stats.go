package watcher

import "sync/atomic"

// Stats are the metrics of one Watch. Watch updates them, and any goroutine may read them. The zero value is
// ready to use.
type Stats struct {
	// Announced is true if the system reports the changes of the whole folder by events. If it is false, scans
	// find some changes later.
	Announced atomic.Bool
	// Directories is the number of directories with events.
	Directories atomic.Int64
	// Scans counts the scans of the whole folder. ScanTime is their CPU time in nanoseconds.
	Scans, ScanTime atomic.Int64
	// Lost counts how often events may be missing, because of an overflow or another error. Each time, the
	// whole folder is scanned.
	Lost atomic.Int64
	// Unannounced counts the changes that a scan found without an event. It stays 0 if the system provides no
	// events at all.
	Unannounced atomic.Int64
}
