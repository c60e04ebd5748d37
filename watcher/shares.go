package watcher

import (
	"container/heap"
	"slices"
	"strings"
)

// shares is a queue whose items share a limit fairly between directories. Each item belongs to a directory and
// has an expected cost. The caller takes the next item with pop, checks the limit, and calls charge with the
// real cost.
//
// pop starts at the root. At each level it enters the directory for which the charged cost plus the expected
// cost of the next item is smallest, and the first by name if there are several. So subdirectories of one
// directory get equal parts of its limit. What one of them does not need goes to the others. The items of a
// directory itself come before those of its subdirectories, in the order of push.
//
// The zero value is an empty queue. The time of push, pop and charge grows with the depth of the directory, and
// at each level with the logarithm of the number of subdirectories with queued items.
type shares[T any] struct{ root share[T] }

// share is the state of one directory in a queue of type shares: the cost charged to it, and its queued items.
type share[T any] struct {
	name  string
	used  int64 // the cost charged to this directory
	next  int64 // the cost of the next item at this path or below
	place int   // the index in the queue of the directory above; -1 if it is not there
	// waiting are the queued items at this path itself.
	waiting []waiting[T]
	below   map[string]*share[T]
	queue   shareQueue[T] // the directories of below that have queued items
}

// waiting is a queued item with its expected cost.
type waiting[T any] struct {
	thing T
	cost  int64
}

// push adds thing to the queue, as an item of the directory at path. cost is the expected cost of the item.
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

// pop removes the next item from the queue and returns it with its expected cost. The result up has the
// directories on the item's path, from the root on. If the item is used, the caller must call charge with up.
// ok is false if the queue is empty.
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

// charge adds the parameter cost to the cost charged to each directory in the parameter up, which is a result of pop.
func (s *shares[T]) charge(up []*share[T], cost int64) {
	for _, at := range up {
		at.used += cost
	}
	settleShares(up)
}

// settleShares restores the order of the heaps (share.queue) after items were added or removed, or after a cost was
// charged. The parameter up has the directories that changed. They form a path that begins at the root, as pop
// returns it.
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

// shareQueue is a heap of the directories in one directory. The first one has the smallest cost.
type shareQueue[T any] []*share[T]

// Len implements heap.Interface, like the other methods.
func (q shareQueue[T]) Len() int { return len(q) }

// Less implements heap.Interface. It adds, for each of the two directories, the charged cost and the cost of the next
// item. The directory with the smaller sum comes first. If the sums are equal, the names decide.
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
