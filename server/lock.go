package server

import "sync"

// lock guards the state of streams and Gateways. It is never locked while sending or waiting. The locks of
// loaded and of the board are locked after it, and never before.
type lock struct{ mu sync.Mutex }

// locked runs f while the lock is locked. The lock is unlocked afterwards even if f panics.
func (l *lock) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}
