package watcher

import "time"

// writersPoll is how often the watcher checks files that programs have open for writing. fsnotify reports no
// event when such a file is closed.
const writersPoll = 50 * time.Millisecond

// writers has the files that programs have open for writing. The watcher does not read such a file, but uses its
// previous content, for at most the duration longest.
type writers struct {
	longest time.Duration        // Options.MaxOpen
	since   map[string]time.Time // by path: when the file was first found open
	next    time.Time            // when to look again
}

// waits is called for a file that a program has open for writing. It reports whether the watcher should wait, and use
// the file's previous content. If the file has been in w for at least w.longest, waits returns false, and the watcher
// reads the file although it is open. For a file that is not in w yet, waits returns true.
func (w *writers) waits(path string, now time.Time) bool {
	since, known := w.since[path]
	return !known || now.Sub(since) < w.longest
}

// due reports whether it is time to look at the files again.
func (w *writers) due(now time.Time) bool { return len(w.since) > 0 && !now.Before(w.next) }

// note replaces the files in w by the parameter open: the files that programs have open for writing now. A file
// that was already in w keeps the time since which it is open. note also sets when these files are checked
// again.
func (w *writers) note(open []string, now time.Time) {
	before := w.since
	w.since, w.next = make(map[string]time.Time, len(open)), now.Add(writersPoll)
	for _, path := range open {
		w.since[path] = earliest(before[path], now)
	}
}
