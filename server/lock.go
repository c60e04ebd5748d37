package server

import "sync"

// lock is what guards the state of streams and Gateways. It is never held while sending or waiting.
// The locks of loaded and of the board are taken after it, and never before.
type lock struct{ mu sync.Mutex }

// locked runs f under the lock, which a panic does not leave locked.
func (l *lock) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}
