package watcher

import (
	"container/heap"
	"slices"
	"strings"
)

// shares is a queue whose items share a limit fairly between directories. Each item has a path of directories
// and an expected cost. The caller takes items with pop, enforces the limit itself, and calls charge with the
// cost that an item really had.
//
// pop goes down from the root. At each level it enters the directory with the smallest sum of the cost charged
// so far and the expected cost of its next item; the names decide if sums are equal. So all directories in one
// directory get equal parts of its limit. If one directory needs less, the others get more. The items of one
// path come before the items below that path, in the order in which they were pushed.
//
// The zero value is an empty queue. The time of push, pop and charge grows with the depth of the path, and at
// each level with the logarithm of the number of directories that have queued items.
type shares[T any] struct{ root share[T] }

// share is the state of one directory in a queue of type shares.
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

// push adds thing to the queue at path. cost is its expected cost.
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

// pop removes and returns the next item. The result up has the directories on the item's path, from the root
// on. ok is false if the queue is empty. pop does not charge the cost: the caller calls charge with up.
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

// charge adds cost to each directory of up, which is a result of pop.
func (s *shares[T]) charge(up []*share[T], cost int64) {
	for _, at := range up {
		at.used += cost
	}
	settleShares(up)
}

// settleShares restores the order of the queues after items or costs of the directories in up changed. up is a
// path from the root on, as pop returns it.
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

// Less implements heap.Interface. It compares, for two directories, the sum of the charged costs and the cost
// of the next item. If the sums are equal, it compares the names.
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
