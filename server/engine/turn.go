package engine

import (
	"context"
	"time"
)

// turn is a lock that can be waited for with patience. The zero value cannot be used.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// Lock waits for the turn.
func (t turn) Lock() { t <- struct{}{} }

// Unlock gives the turn to another.
func (t turn) Unlock() { <-t }

// until waits for the turn, false where ctx ends first.
func (t turn) until(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// within waits for the turn, false where it does not come in time.
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
