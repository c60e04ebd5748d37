package server

import "sync"

// lock guards the state of streams and Gateways. It is never locked while sending or waiting. Two other types have
// locks of their own: loaded and board.Board. Code that needs several of these locks locks this lock first, then the
// lock of loaded, and the lock of the Board last.
type lock struct{ mu sync.Mutex }

// locked runs f while the lock is locked. The lock is unlocked afterwards even if f panics.
func (l *lock) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}
