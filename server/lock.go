package server

import (
	"slices"
	"sync"

	"github.com/gatefold/gatefold/translate/xds"
)

// lock is what guards the state of streams and Gateways. It is never held while sending or waiting.
// The locks of loaded and of the board are taken after it, and never before.
type lock struct{ mu sync.Mutex }

// stepNames is how many names of a request are booked at a time under the lock. Between two
// steps others have their turn, so that a request of 200,000 names delays nobody by more than a
// step. The stream's own goroutine does all steps, and sends nothing in between.
const stepNames = 1000

// locked runs f under the lock, which a panic does not leave locked.
func (l *lock) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// inSteps calls book for parts of names, each time under the lock, until one has an error.
func (l *lock) inSteps(names []string, book func([]string) error) (err error) {
	for part := range slices.Chunk(names, stepNames) {
		if l.locked(func() { err = book(part) }); err != nil {
			return err
		}
	}
	return nil
}

// inParts calls book for each part, so many at a time under the lock.
func (l *lock) inParts(parts []xds.Part, book func(xds.Part)) {
	for len(parts) > 0 {
		now := parts[:min(len(parts), stepNames)]
		l.locked(func() {
			for _, part := range now {
				book(part)
			}
		})
		parts = parts[len(now):]
	}
}
