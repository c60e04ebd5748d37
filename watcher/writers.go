package watcher

import "time"

// writersPoll is how often the watcher checks files that programs have open for writing. fsnotify reports no
// event when such a file is closed.
const writersPoll = 50 * time.Millisecond

// writers are the files whose last content is used because programs have them open for writing. The map since has
// the path of each file, and the time at which the file was first found open.
type writers struct {
	longest time.Duration // Options.MaxOpen
	since   map[string]time.Time
	next    time.Time // when to look again
}

// waits reports whether the last content of the file at path may still be used at the time now. It returns false
// if the file has been in w, and so open for writing, for at least w.longest.
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
