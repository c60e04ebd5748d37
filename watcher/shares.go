package watcher

import (
	"container/heap"
	"slices"
	"strings"
)

// shares is a queue of things to read within a limit. The name with the smallest cost so far comes
// next: first among the names of the root, then among the names of that directory, and so on. So
// every directory has an equal part of the limit of the directory above it, and others get what it
// does not need. A directory with too much cannot use the part of those that have less. The order
// depends only on paths and costs.
//
// The zero value is empty. pop costs the depth of the path, and the logarithm of the names of each
// directory on it.
type shares[T any] struct{ root share[T] }

// share is the state of one directory.
type share[T any] struct {
	name  string
	used  int64 // the costs of what was popped below
	next  int64 // the cost of what comes next below
	place int   // in the queue of the directory above; -1 outside of it
	// waiting are the things of this very path.
	waiting []waiting[T]
	below   map[string]*share[T]
	queue   shareQueue[T] // those of below that have something waiting
}

// waiting is a thing in the queue.
type waiting[T any] struct {
	thing T
	cost  int64
}

// push adds a thing at a path with its cost.
func (s *shares[T]) push(path string, cost int64, thing T) {
	at, up := &s.root, []*share[T]{&s.root}
	for name := range strings.SplitSeq(path, "/") {
		next := at.below[name]
		if next == nil {
			next = &share[T]{name: name, place: -1}
			if at.below == nil {
				at.below = map[string]*share[T]{}
			}
			at.below[name] = next
		}
		at, up = next, append(up, next)
	}
	at.waiting = append(at.waiting, waiting[T]{thing, cost})
	settleShares(up)
}

// pop returns the next thing. It does not count its cost; call charge for that.
func (s *shares[T]) pop() (next waiting[T], up []*share[T], ok bool) {
	at := &s.root
	up = []*share[T]{at}
	for len(at.waiting) == 0 {
		if len(at.queue) == 0 {
			return next, nil, false
		}
		at = at.queue[0]
		up = append(up, at)
	}
	next, at.waiting = at.waiting[0], at.waiting[1:]
	settleShares(up)
	return next, up, true
}

// charge adds a cost to every directory above a thing.
func (s *shares[T]) charge(up []*share[T], cost int64) {
	for _, at := range up {
		at.used += cost
	}
	settleShares(up)
}

// settleShares restores the queue order of the directories in up, from the last to the root, after their waiting
// things or costs changed.
func settleShares[T any](up []*share[T]) {
	for i, at := range slices.Backward(up) {
		switch {
		case len(at.waiting) > 0:
			at.next = at.waiting[0].cost
		case len(at.queue) > 0:
			at.next = at.queue[0].next
		}
		if i == 0 {
			return
		}
		above, waits := up[i-1], len(at.waiting)+len(at.queue) > 0
		switch {
		case waits && at.place < 0:
			heap.Push(&above.queue, at)
		case waits:
			heap.Fix(&above.queue, at.place)
		case at.place >= 0:
			heap.Remove(&above.queue, at.place)
		}
	}
}

// shareQueue is a heap of the names of one directory.
type shareQueue[T any] []*share[T]

// Len implements heap.Interface, like the other methods.
func (q shareQueue[T]) Len() int { return len(q) }

// Less implements heap.Interface. It compares the costs so far, with those of the next thing.
func (q shareQueue[T]) Less(i, k int) bool {
	a, b := q[i].used+q[i].next, q[k].used+q[k].next
	return a < b || a == b && q[i].name < q[k].name
}

// Swap implements heap.Interface.
func (q shareQueue[T]) Swap(i, k int) {
	q[i], q[k] = q[k], q[i]
	q[i].place, q[k].place = i, k
}

// Push implements heap.Interface.
func (q *shareQueue[T]) Push(x any) {
	s := x.(*share[T])
	s.place = len(*q)
	*q = append(*q, s)
}

// Pop implements heap.Interface.
func (q *shareQueue[T]) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	s.place = -1
	*q = (*q)[:last]
	return s
}
