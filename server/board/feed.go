package board

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Feed reports to one reader which objects changed their status since it last asked. It never waits
// for the reader. Of several changes the reader gets the newest.
type Feed struct {
	board   *Board
	wake    chan struct{}
	changed map[manifest.Key]struct{} // guarded by Board.mu
}

// Change is an object whose status changed.
type Change struct {
	Key manifest.Key
	Now *Object[any] // nil when the object is gone, or has no status any more
}

func newFeed(b *Board) *Feed {
	return &Feed{board: b, wake: make(chan struct{}, 1), changed: map[manifest.Key]struct{}{}}
}

// Changed returns a channel with a value if there is something to Take. The first value comes after
// the first Publish, even if that is empty.
func (f *Feed) Changed() <-chan struct{} { return f.wake }

// Take returns the changes since the last call. With all it also returns every other object that
// has a status. The result is sorted by key.
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

// look collects the changed objects in their current state.
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
	f.changed = map[manifest.Key]struct{}{} // an emptied one keeps the room of all objects of the start
	return gone, seen
}

// note records that the statuses of objects changed. A nil feed has no reader.
func (f *Feed) note(keys ...manifest.Key) {
	if f == nil {
		return
	}
	for _, key := range keys {
		f.changed[key] = struct{}{}
	}
	select {
	case f.wake <- struct{}{}:
	default: // it knows that there is something
	}
}
