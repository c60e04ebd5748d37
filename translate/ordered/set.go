// Package ordered has a persistent ordered set. Who has a set of items that differ in a name has a map.
package ordered

import "iter"

// Set is a persistent ordered set. Insert and Delete return a new set and do not change the old one. The
// new set shares all but O(log n) nodes with the old one. The zero Set has no order; start with New.
type Set[T any] struct {
	compare func(a, b T) int
	root    *branch[T]
}

// branch is a node of an AVL tree. It is never changed after it was built.
type branch[T any] struct {
	item        T
	left, right *branch[T]
	height, len int32
}

// New returns an empty set. The function compare is the order of the set: a strict total order. Items
// for which compare returns 0 are the same item.
func New[T any](compare func(a, b T) int) Set[T] {
	return Set[T]{compare: compare}
}

// Len returns the number of items.
func (s Set[T]) Len() int { return int(s.root.size()) }

// Insert returns the set with the given item added. If the set has an item that compares as 0 with it, the
// given item replaces that item.
func (s Set[T]) Insert(item T) Set[T] {
	return Set[T]{s.compare, s.insert(s.root, item)}
}

// Delete returns the set without the item that compares as 0 with the given item. Without such an item, the
// result has the same items as s.
func (s Set[T]) Delete(item T) Set[T] {
	return Set[T]{s.compare, s.remove(s.root, item)}
}

// Get returns the item for which the function place returns 0. place says where an item stands relative to the one
// that is sought: it is negative for the items before that one, and positive for those after it. ok is false if the
// set has no such item.
func (s Set[T]) Get(place func(item T) int) (found T, ok bool) {
	for b := s.root; b != nil; {
		switch c := place(b.item); {
		case c < 0:
			b = b.right
		case c > 0:
			b = b.left
		default:
			return b.item, true
		}
	}
	return found, false
}

// Same reports, in O(1), whether both sets share the same nodes in memory. If it returns false, the sets may
// still have equal items.
func (s Set[T]) Same(other Set[T]) bool { return s.root == other.root }

// Shared returns how many nodes both sets share in memory. If one set was made of the other by edits, they share the
// nodes that no edit copied.
func (s Set[T]) Shared(other Set[T]) (shared int) {
	nodes := map[*branch[T]]bool{}
	other.root.each(func(b *branch[T]) { nodes[b] = true })
	s.root.each(func(b *branch[T]) {
		if nodes[b] {
			shared++
		}
	})
	return shared
}

// each calls fn for every node of b.
func (b *branch[T]) each(fn func(*branch[T])) {
	if b != nil {
		fn(b)
		b.left.each(fn)
		b.right.each(fn)
	}
}

// All yields the items in order.
func (s Set[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { s.root.walk(yield) }
}

// walk yields the items of b in order. It returns false if yield has returned false.
func (b *branch[T]) walk(yield func(T) bool) bool {
	return b == nil || b.left.walk(yield) && yield(b.item) && b.right.walk(yield)
}

// Backward yields the items in reverse order.
func (s Set[T]) Backward() iter.Seq[T] {
	return func(yield func(T) bool) { s.root.walkBack(yield) }
}

// From yields the given item, if the set has it, and all items after it, in order. Finding the first of them
// takes O(log n) steps.
func (s Set[T]) From(item T) iter.Seq[T] {
	return func(yield func(T) bool) { s.from(s.root, item, yield) }
}

// from yields, in order, the items of b that are not before the parameter item. It returns false if yield has
// returned false.
func (s Set[T]) from(b *branch[T], item T, yield func(T) bool) bool {
	if b == nil {
		return true
	}
	if s.compare(b.item, item) < 0 {
		return s.from(b.right, item, yield)
	}
	return s.from(b.left, item, yield) && yield(b.item) && b.right.walk(yield)
}

// Before yields all items before the given one, in reverse order. Finding the first of them takes O(log n)
// steps.
func (s Set[T]) Before(item T) iter.Seq[T] {
	return func(yield func(T) bool) { s.before(s.root, item, yield) }
}

// before yields the items of b that come before the parameter item, the last one first. It returns false if yield
// has returned false.
func (s Set[T]) before(b *branch[T], item T, yield func(T) bool) bool {
	if b == nil {
		return true
	}
	if s.compare(b.item, item) >= 0 {
		return s.before(b.left, item, yield)
	}
	return s.before(b.right, item, yield) && yield(b.item) && b.left.walkBack(yield)
}

// walkBack yields the items of b in reverse order. It returns false if yield has returned false.
func (b *branch[T]) walkBack(yield func(T) bool) bool {
	return b == nil || b.right.walkBack(yield) && yield(b.item) && b.left.walkBack(yield)
}

// insert returns a copy of b with item, which replaces an item that compares as 0.
func (s Set[T]) insert(b *branch[T], item T) *branch[T] {
	if b == nil {
		return fork(nil, item, nil)
	}
	switch c := s.compare(item, b.item); {
	case c < 0:
		return balance(s.insert(b.left, item), b.item, b.right)
	case c > 0:
		return balance(b.left, b.item, s.insert(b.right, item))
	}
	return fork(b.left, item, b.right)
}

// remove returns a copy of b without the item that compares as 0 with item.
func (s Set[T]) remove(b *branch[T], item T) *branch[T] {
	if b == nil {
		return nil
	}
	switch c := s.compare(item, b.item); {
	case c < 0:
		return balance(s.remove(b.left, item), b.item, b.right)
	case c > 0:
		return balance(b.left, b.item, s.remove(b.right, item))
	case b.left == nil:
		return b.right
	case b.right == nil:
		return b.left
	}
	first, rest := takeFirst(b.right)
	return balance(b.left, first, rest)
}

// takeFirst returns the first item of b, and a copy of b without it. b must not be nil.
func takeFirst[T any](b *branch[T]) (T, *branch[T]) {
	if b.left == nil {
		return b.item, b.right
	}
	first, rest := takeFirst(b.left)
	return first, balance(rest, b.item, b.right)
}

// balance returns a balanced tree of left, item and right. The heights of left and right may differ by at most
// two.
func balance[T any](left *branch[T], item T, right *branch[T]) *branch[T] {
	switch lean := left.depth() - right.depth(); {
	case lean > 1 && left.left.depth() >= left.right.depth():
		return fork(left.left, left.item, fork(left.right, item, right))
	case lean > 1:
		inner := left.right
		return fork(fork(left.left, left.item, inner.left), inner.item, fork(inner.right, item, right))
	case lean < -1 && right.right.depth() >= right.left.depth():
		return fork(fork(left, item, right.left), right.item, right.right)
	case lean < -1:
		inner := right.left
		return fork(fork(left, item, inner.left), inner.item, fork(inner.right, right.item, right.right))
	}
	return fork(left, item, right)
}

// fork returns a node with item and the children left and right. It does not balance them.
func fork[T any](left *branch[T], item T, right *branch[T]) *branch[T] {
	return &branch[T]{
		item: item, left: left, right: right,
		height: 1 + max(left.depth(), right.depth()),
		len:    1 + left.size() + right.size(),
	}
}

// depth returns the height of b, which is 0 if b is nil.
func (b *branch[T]) depth() int32 {
	if b == nil {
		return 0
	}
	return b.height
}

// size returns the number of items of b, which is 0 if b is nil.
func (b *branch[T]) size() int32 {
	if b == nil {
		return 0
	}
	return b.len
}
