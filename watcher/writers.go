package watcher

import "time"

// writersPoll is the time between two looks at files that programs have open for writing:
// that they are closed makes no event that fsnotify passes on.
const writersPoll = 50 * time.Millisecond

// writers are the files whose last content is used because programs are writing them.
type writers struct {
	longest time.Duration // Options.MaxOpen
	since   map[string]time.Time
	next    time.Time // when to look again
}

// waits reports whether a file may still wait for its writer.
func (w *writers) waits(path string, now time.Time) bool {
	since, known := w.since[path]
	return !known || now.Sub(since) < w.longest
}

// due reports whether it is time to look at the files again.
func (w *writers) due(now time.Time) bool { return len(w.since) > 0 && !now.Before(w.next) }

// note replaces the list with open, the files that programs have open for writing. It keeps since when each file
// was known, and sets the time of the next look.
func (w *writers) note(open []string, now time.Time) {
	before := w.since
	w.since, w.next = make(map[string]time.Time, len(open)), now.Add(writersPoll)
	for _, path := range open {
		w.since[path] = earliest(before[path], now)
	}
}
