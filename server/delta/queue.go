package delta

import "slices"

// queue is an ordered set of names, followed by lists of names that many queues share. A shared
// list may contain a name twice. The names are a linked list, so that every operation on one name
// is O(1).
type queue struct {
	in          map[string]*queued
	first, last *queued
	lists       [][]string
}

// queued is one name of a queue.
type queued struct {
	name         string
	before, next *queued
}

// maxLists is the number of lists from which on a queue merges the last of them.
const maxLists = 16

// push appends a name that is not in the queue.
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

// share appends a list that must not change afterwards. Above maxLists lists, it merges the last
// ones as long as the list before them is not longer than all of them. So a name is merged once for
// each doubling, and a long list is not copied for every short one.
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

// own reports whether the first name belongs to the queue itself and not to a shared list.
func (q *queue) own() bool { return q.first != nil }

// empty reports whether the queue has no name.
func (q *queue) empty() bool { return q.first == nil && len(q.lists) == 0 }

// peek returns the first name; ok is false when there is none.
func (q *queue) peek() (name string, ok bool) {
	switch {
	case q.own():
		return q.first.name, true
	case len(q.lists) > 0:
		return q.lists[0][0], true
	}
	return "", false
}

// pop removes the first name.
func (q *queue) pop() {
	if q.own() {
		q.drop(q.first.name)
		return
	}
	if q.lists[0] = q.lists[0][1:]; len(q.lists[0]) == 0 {
		q.lists = slices.Delete(q.lists, 0, 1) // which lets go of the list
	}
	if len(q.lists) == 0 {
		q.lists = nil
	}
}

// drop removes a name from the queue, but not from shared lists.
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
		q.in = nil // a map does not shrink
	}
}

// size counts the names of the queue. A name in several lists counts several times.
func (q *queue) size() int {
	size := len(q.in)
	for _, list := range q.lists {
		size += len(list)
	}
	return size
}
