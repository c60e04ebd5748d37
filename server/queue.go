package server

import "slices"

// queue is an ordered set of names, and behind them lists of names that many queues
// share: those may hold a name twice.
type queue struct {
	names []string
	in    map[string]struct{}
	lists [][]string
}

// maxLists bounds how many lists a queue keeps that nobody takes from.
const maxLists = 16

// push puts a name in.
func (q *queue) push(name string) {
	if _, ok := q.in[name]; ok {
		return
	}
	if q.in == nil {
		q.in = map[string]struct{}{}
	}
	q.in[name] = struct{}{}
	q.names = append(q.names, name)
}

// share puts a list in that is never changed.
func (q *queue) share(names []string) {
	if q.lists = append(q.lists, names); len(q.lists) > maxLists {
		all := slices.Concat(q.lists...)
		slices.Sort(all)
		q.lists = [][]string{slices.Compact(all)}
	}
}

// own tells whether the first name is not of a list.
func (q *queue) own() bool { return len(q.in) > 0 }

// peek gives the first name; ok is false when there is none.
func (q *queue) peek() (name string, ok bool) {
	switch {
	case q.own():
		return q.names[0], true
	case len(q.lists) > 0:
		return q.lists[0][0], true
	}
	return "", false
}

// pop takes the first name out.
func (q *queue) pop() {
	if !q.own() {
		if q.lists[0] = q.lists[0][1:]; len(q.lists[0]) == 0 {
			q.lists = slices.Delete(q.lists, 0, 1) // which lets go of the list
		}
		if len(q.lists) == 0 {
			q.lists = nil
		}
		return
	}
	delete(q.in, q.names[0])
	q.names = q.names[1:]
	q.shrink()
}

// drop takes a name out, but not out of lists.
func (q *queue) drop(name string) {
	if _, ok := q.in[name]; !ok {
		return
	}
	delete(q.in, name)
	at := slices.Index(q.names, name)
	q.names = slices.Delete(q.names, at, at+1)
	q.shrink()
}

// shrink gives the memory up of a queue that has become empty: maps do not shrink.
func (q *queue) shrink() {
	if len(q.in) == 0 {
		q.names, q.in = nil, nil
	}
}

// each gives every name that is in, some twice.
func (q *queue) each(yield func(string) bool) {
	for _, list := range append(slices.Clone(q.lists), q.names) {
		for _, name := range list {
			if !yield(name) {
				return
			}
		}
	}
}
