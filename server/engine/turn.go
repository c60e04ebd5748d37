package engine

import (
	"context"
	"time"
)

// turn is a lock. A caller can limit how long it waits for the lock. The zero value cannot be used.
type turn chan struct{}

// newTurn returns a turn that is not locked.
func newTurn() turn { return make(turn, 1) }

// Lock waits for the lock and locks it.
func (t turn) Lock() { t <- struct{}{} }

// Unlock releases the lock.
func (t turn) Unlock() { <-t }

// until waits for the lock, at most until ctx ends, and locks it. It returns false if it did not get the lock.
func (t turn) until(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// within waits for the lock, at most for the time patience, and locks it. It returns false if it did not get the
// lock.
func (t turn) within(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}
