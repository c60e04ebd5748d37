package board

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Feed reports to one reader which objects changed their status since the reader's last call of Take. The board
// never waits for the reader. If an object changed several times, the reader gets only the newest status.
type Feed struct {
	board   *Board
	wake    chan struct{}
	changed map[manifest.Key]struct{} // guarded by Board.mu
}

// Change is an object whose status changed.
type Change struct {
	Key manifest.Key
	Now *Object[any] // nil if the object no longer exists, or has no status any more
}

// newFeed returns a feed of b without changes.
func newFeed(b *Board) *Feed {
	return &Feed{board: b, wake: make(chan struct{}, 1), changed: map[manifest.Key]struct{}{}}
}

// Changed returns a channel. It delivers a value when a call of Take may return something. The first value comes
// after the first Publish, even if no status was published.
func (f *Feed) Changed() <-chan struct{} { return f.wake }

// Take returns the objects whose status changed since the last call, sorted by key. If the parameter all is true,
// it returns every object that has a status or is stale, and the changed ones that no longer have a status.
func (f *Feed) Take(all bool) []Change {
	gone, seen := f.look(all)
	changes := make([]Change, 0, len(gone)+len(seen))
	for _, key := range gone {
		changes = append(changes, Change{Key: key})
	}
	for key, s := range seen {
		now := s.at(key)
		changes = append(changes, Change{key, &now})
	}
	slices.SortFunc(changes, func(a, b Change) int { return manifest.CompareKeys(a.Key, b.Key) })
	return changes
}

// look returns the current state of the changed objects (seen), and those changed objects that have no status any
// more and are not stale (gone). It then forgets the changes (f.changed). If the parameter all is true, every
// object counts as changed.
func (f *Feed) look(all bool) (gone []manifest.Key, seen map[manifest.Key]sight) {
	b := f.board
	b.refresh()
	b.mu.Lock()
	defer b.mu.Unlock()
	if all {
		for key := range b.keys() {
			f.changed[key] = struct{}{}
		}
	}
	seen = make(map[manifest.Key]sight, len(f.changed))
	for key := range f.changed {
		if now, ok := b.sees(key); ok {
			seen[key] = now
		} else {
			gone = append(gone, key)
		}
	}
	f.changed = map[manifest.Key]struct{}{} // an emptied map would keep the memory for all objects
	return gone, seen
}

// note records that the statuses of the given objects changed, and wakes the reader. A nil feed has no reader;
// then note does nothing.
func (f *Feed) note(keys ...manifest.Key) {
	if f == nil {
		return
	}
	for _, key := range keys {
		f.changed[key] = struct{}{}
	}
	select {
	case f.wake <- struct{}{}:
	default: // the reader has not read the last value yet
	}
}
