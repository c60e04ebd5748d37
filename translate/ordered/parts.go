package ordered

// FromSorted returns a set of the items, which are in the order of compare, and of which no two are the same. It costs
// O(n), where as many calls of Insert cost O(n log n).
func FromSorted[T any](compare func(a, b T) int, items []T) Set[T] {
	return Set[T]{compare, grow(items)}
}

// grow returns a balanced tree of the items.
func grow[T any](items []T) *branch[T] {
	if len(items) == 0 {
		return nil
	}
	middle := len(items) / 2
	return fork(grow(items[:middle]), items[middle], grow(items[middle+1:]))
}

// Split returns the items before the given one, and the item itself, if the set has it, with all items after it. Both
// sets share all but O(log n) nodes with s.
func (s Set[T]) Split(item T) (before, rest Set[T]) {
	left, right := s.split(s.root, item)
	return Set[T]{s.compare, left}, Set[T]{s.compare, right}
}

// split does the work of Split for the items of b.
func (s Set[T]) split(b *branch[T], item T) (before, rest *branch[T]) {
	if b == nil {
		return nil, nil
	}
	if s.compare(b.item, item) < 0 {
		before, rest = s.split(b.right, item)
		return link(b.left, b.item, before), rest
	}
	before, rest = s.split(b.left, item)
	return before, link(rest, b.item, b.right)
}

// Join returns the items of both sets. All items of s must be before those of after. The result shares all but
// O(log n) nodes with the two.
func (s Set[T]) Join(after Set[T]) Set[T] {
	if after.root == nil {
		return s
	}
	first, rest := takeFirst(after.root)
	return Set[T]{s.compare, link(s.root, first, rest)}
}

// link returns a balanced tree of left, item and right, whose heights may differ by any number.
func link[T any](left *branch[T], item T, right *branch[T]) *branch[T] {
	switch lean := left.depth() - right.depth(); {
	case lean > 1:
		return balance(left.left, left.item, link(left.right, item, right))
	case lean < -1:
		return balance(link(left, item, right.left), right.item, right.right)
	}
	return fork(left, item, right)
}
