package delta

import "slices"

// queue is an ordered set of names, followed by lists that are shared with other queues. A shared list may have
// a name twice. The set is a linked list with an index, so that every operation on one name takes constant time.
type queue struct {
	in          map[string]*queued
	first, last *queued
	lists       [][]string
}

// queued is an element of the linked list that holds the names of a queue.
type queued struct {
	name         string
	before, next *queued
}

// bulk is the least length of a list that a queue keeps as a whole. The names of a shorter list are copied.
const bulk = 64

// maxLists is the largest number of lists in a queue. If there are more, the method share merges some of them.
const maxLists = 16

// push appends a name. It does nothing if the queue's own set has the name.
func (q *queue) push(name string) {
	if _, ok := q.in[name]; ok {
		return
	}
	if q.in == nil {
		q.in = map[string]*queued{}
	}
	added := &queued{name: name, before: q.last}
	if q.last == nil {
		q.first = added
	} else {
		q.last.next = added
	}
	q.in[name], q.last = added, added
}

// share appends a list of names to q.lists. It does not copy the list, so the caller must not change the list
// afterwards. If q.lists then has more than maxLists lists, share merges the last two lists into one. While the
// merged list is at least as long as the list before it, share merges these two lists as well. So a long list is
// not copied each time a short list is appended.
func (q *queue) share(names []string) {
	q.lists = append(q.lists, names)
	if len(q.lists) <= maxLists {
		return
	}
	from, size := len(q.lists)-1, len(names)
	for from > 0 && (from == len(q.lists)-1 || len(q.lists[from-1]) <= size) {
		from--
		size += len(q.lists[from])
	}
	all := slices.Concat(q.lists[from:]...)
	slices.Sort(all)
	q.lists = append(slices.Delete(q.lists, from, len(q.lists)), slices.Compact(all))
}

// own reports whether the queue's own set has any name. If it does, the first name of the queue is in that set;
// otherwise the first name is in a shared list.
func (q *queue) own() bool { return q.first != nil }

// empty reports whether the queue has no name.
func (q *queue) empty() bool { return q.first == nil && len(q.lists) == 0 }

// peek returns the first name. ok is false if there is none.
func (q *queue) peek() (name string, ok bool) {
	switch {
	case q.own():
		return q.first.name, true
	case len(q.lists) > 0:
		return q.lists[0][0], true
	}
	return "", false
}

// pop removes the first name. The queue must not be empty.
func (q *queue) pop() {
	if q.own() {
		q.drop(q.first.name)
		return
	}
	if q.lists[0] = q.lists[0][1:]; len(q.lists[0]) == 0 {
		q.lists = slices.Delete(q.lists, 0, 1) // this frees the list
	}
	if len(q.lists) == 0 {
		q.lists = nil
	}
}

// drop removes a name from the queue's own set. It does not remove the name from shared lists.
func (q *queue) drop(name string) {
	gone, ok := q.in[name]
	if !ok {
		return
	}
	if gone.before == nil {
		q.first = gone.next
	} else {
		gone.before.next = gone.next
	}
	if gone.next == nil {
		q.last = gone.before
	} else {
		gone.next.before = gone.before
	}
	if delete(q.in, name); len(q.in) == 0 {
		q.in = nil // a Go map does not free its memory otherwise
	}
}

// size returns the number of names in the queue. A name in several lists counts several times.
func (q *queue) size() int {
	size := len(q.in)
	for _, list := range q.lists {
		size += len(list)
	}
	return size
}
