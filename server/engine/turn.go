package engine

import (
	"context"
	"time"
)

// turn is a lock with a wait that can be limited. The zero value cannot be used.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// Lock waits for the turn.
func (t turn) Lock() { t <- struct{}{} }

// Unlock releases the lock.
func (t turn) Unlock() { <-t }

// until waits for the lock. It returns false if ctx ends first.
func (t turn) until(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// within waits for the lock. It returns false if that takes longer than patience.
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
