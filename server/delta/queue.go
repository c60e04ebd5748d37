package delta

// queue is an ordered set of names: a linked list with an index, so that every operation takes constant time.
type queue struct {
	in          map[string]*queued
	first, last *queued
}

// queued is an element of the linked list that holds the names of a queue.
type queued struct {
	name         string
	before, next *queued
}

// push appends a name. It does nothing if the queue has the name.
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

// has reports whether the queue has a name.
func (q *queue) has(name string) bool { return q.in[name] != nil }

// empty reports whether the queue has no name.
func (q *queue) empty() bool { return q.first == nil }

// peek returns the first name. ok is false if there is none.
func (q *queue) peek() (name string, ok bool) {
	if q.first == nil {
		return "", false
	}
	return q.first.name, true
}

// drop removes a name, if the queue has it.
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
