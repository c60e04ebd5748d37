package watcher

import (
	"cmp"
	"time"
)

// Limits limit one Tree, so that no folder can exhaust memory (docs/design/safety.md). A file or directory that
// exceeds a limit is left out and becomes a Skip. Exceeding a limit is not an error.
type Limits struct {
	// FileBytes is the largest size of a file that is read.
	FileBytes int64
	// TreeBytes is the largest total size of the files in a Tree.
	TreeBytes int64
	// Files is the largest number of files in a Tree. All links count.
	Files int
	// Dirs is the largest number of directories that are listed.
	Dirs int
	// Depth is the deepest nesting of directories that are listed.
	Depth int
}

// DefaultLimits returns the limits of docs/design/safety.md.
func DefaultLimits() Limits {
	return Limits{
		FileBytes: 16 << 20,
		TreeBytes: 256 << 20,
		Files:     500_000,
		Dirs:      100_000,
		Depth:     64,
	}
}

// Options configure what is read or watched, and the waiting times. The zero value of every field
// except Root means its default.
type Options struct {
	// Root is the folder, or a symbolic link to it.
	Root string
	// Limits limit each Tree.
	Limits Limits
	// Takes reports whether a file with this base name is read. nil means .yaml, .yml and .json. Hidden files are
	// never read.
	Takes func(name string) bool
	// Ignore says which files and directories are left out.
	Ignore Ignore
	// Platform reports whether a path is the platform team's, so that nothing of it is left out for a limit of the folder
	// (see parts). The path of a directory ends in "/". nil means that no path is.
	Platform func(path string) bool
	// EveryPath says that a path is more than the place of a file: what several links lead to is read at each of them, but
	// not below itself. Otherwise it is read once (see visit).
	EveryPath bool
	// RenameQuiet is the debounce after one file was replaced by a rename, which is atomic. The default is 20 ms.
	RenameQuiet time.Duration
	// Quiet is the debounce after any other change. The default is 100 ms.
	Quiet time.Duration
	// MaxAdd is the longest debounce of additions and changes. For a file that is changed again and again, it is
	// MaxRemove instead. The default is 1 s, or Quiet if that is longer.
	MaxAdd time.Duration
	// MaxRemove is the longest debounce of removals. The default is 10 s.
	MaxRemove time.Duration
	// Unit returns the unit of a file, by the file's path in the folder. The files of one unit wait for each other, and
	// not for those of others: while files of a unit change, its changes wait for MaxRemove. The changes of a unit at rest
	// wait for files of other units as long as MaxAdd and MaxRemoveUnit say. nil means that all files are one unit, whose
	// finished files need not wait for the others longer than MaxAdd. Unit must return "" for all paths that have no
	// unit of their own. It is called on a goroutine of Watch.
	Unit func(path string) string
	// MaxRemoveUnit replaces MaxRemove for removals of a unit at rest. The default is 4 s, so that they are served
	// within 5 s.
	MaxRemoveUnit time.Duration
	// MaxLock is the longest wait for .git/index.lock to disappear. The default is 30 s.
	MaxLock time.Duration
	// MaxOpen is how long the previous content of a file is used, at most, while a program has the file open for
	// writing. The default is 30 s.
	MaxOpen time.Duration
	// FallbackScan is the time between two regular scans. A regular scan compares the whole folder even if no event
	// reported a change. The time is longer if a scan needs much CPU time. It is shorter while the IgnoreFile is
	// being changed, and after an incomplete scan. The default is 2 s.
	FallbackScan time.Duration
	// Mode says how changes are found. "" means Auto.
	Mode Mode
	// Stats, if not nil, is kept up to date.
	Stats *Stats
	// Filled says that the folder had files before Watch began. If the first Tree has no files, Watch then waits
	// longer for those that are copied back (MaxAdd).
	Filled bool
	// Rescan requests a scan of the whole folder. The resulting Tree is not debounced, and Watch passes it on even
	// if nothing changed. Then Watch closes the channel that it received. A nil Rescan never requests a scan.
	Rescan <-chan chan<- struct{}
	// Arrived, if not nil, is called with each Tree as soon as it is ready, even while the call for an earlier
	// Tree is running. It must not block.
	Arrived func(Tree)
}

// Mode is how Watch finds changes. In every mode, Watch also scans.
type Mode string

// The modes.
const (
	// Auto uses the system's events if there are any. It detects file systems with incomplete events.
	Auto Mode = "auto"
	// Inotify requires events: Watch returns an error if there are none. It assumes that events report every
	// change, even on network file systems.
	Inotify Mode = "inotify"
	// Poll only scans.
	Poll Mode = "poll"
)

// withDefaults returns the options with defaults for zero values.
func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	if o.Takes == nil {
		o.Takes = Loadable
	}
	o.RenameQuiet = cmp.Or(o.RenameQuiet, 20*time.Millisecond)
	o.Quiet = cmp.Or(o.Quiet, 100*time.Millisecond)
	o.MaxAdd = cmp.Or(o.MaxAdd, max(time.Second, o.Quiet))
	o.MaxRemove = cmp.Or(o.MaxRemove, 10*time.Second)
	o.MaxRemoveUnit = cmp.Or(o.MaxRemoveUnit, 4*time.Second)
	o.MaxLock = cmp.Or(o.MaxLock, 30*time.Second)
	o.MaxOpen = cmp.Or(o.MaxOpen, 30*time.Second)
	o.FallbackScan = cmp.Or(o.FallbackScan, 2*time.Second)
	o.Mode = cmp.Or(o.Mode, Auto)
	if o.Stats == nil {
		o.Stats = new(Stats)
	}
	return o
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		FileBytes: cmp.Or(l.FileBytes, d.FileBytes),
		TreeBytes: cmp.Or(l.TreeBytes, d.TreeBytes),
		Files:     cmp.Or(l.Files, d.Files),
		Dirs:      cmp.Or(l.Dirs, d.Dirs),
		Depth:     cmp.Or(l.Depth, d.Depth),
	}
}
