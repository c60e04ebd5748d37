package ordered

import "iter"

// Diff yields, in order, what two sets of pointers differ in: the item of before and the item of after that stand at
// one place. One of them is nil if only the other set has an item there. Items that are the same pointer are not
// yielded, and nodes that both sets share are not visited. So if one set was made of the other by a few edits, Diff
// costs O(edits · log n), and else O(n). Both sets must have the same order.
func Diff[T any](before, after Set[*T]) iter.Seq2[*T, *T] {
	return func(yield func(*T, *T) bool) {
		var old, now trail[*T]
		for old, now = old.push(before.root), now.push(after.root); len(old)+len(now) > 0; {
			var was, is *T
			switch place := meet(&old, &now, before.compare); {
			case place == shared:
				continue
			case place <= 0:
				was = old.pop().item
				if place == 0 {
					is = now.pop().item
				}
			default:
				is = now.pop().item
			}
			if was != is && !yield(was, is) {
				return
			}
		}
	}
}

// trail is what is left of an enumeration of a tree, the next piece last. A piece is a whole tree, or, once it is
// opened, the item of a node alone.
type trail[T any] []piece[T]

// piece is a part of an enumeration.
type piece[T any] struct {
	*branch[T]
	opened bool
}

// push adds the items of b to the front of the trail.
func (t trail[T]) push(b *branch[T]) trail[T] {
	if b == nil {
		return t
	}
	return append(t, piece[T]{b, false})
}

// pop removes the next piece.
func (t *trail[T]) pop() piece[T] {
	last := len(*t) - 1
	next := (*t)[last]
	(*t)[last] = piece[T]{}
	*t = (*t)[:last]
	return next
}

// open replaces the next piece, a whole tree, by its left tree, its item and its right tree.
func (t *trail[T]) open() {
	next := t.pop().branch
	*t = append(t.push(next.right), piece[T]{next, true}).push(next.left)
}

// shared is the result of meet if both trails went on with the same tree.
const shared = 2

// meet opens trees until both trails go on with an item, and returns the order of the two items: -1, 0 or 1. An item
// comes before the end of the other trail. If both trails go on with the very same tree, meet removes it from both, and
// returns shared.
func meet[T any](old, now *trail[T], compare func(a, b T) int) int {
	for {
		was, is := old.next(), now.next()
		switch {
		case was.whole() && is.whole() && was.branch == is.branch:
			old.pop()
			now.pop()
			return shared
		case was.whole() && (!is.whole() || was.height >= is.height):
			old.open()
		case is.whole():
			now.open()
		case was.branch == nil:
			return 1
		case is.branch == nil:
			return -1
		default:
			return max(-1, min(1, compare(was.item, is.item)))
		}
	}
}

// next returns the next piece, or no branch at the end.
func (t *trail[T]) next() (next piece[T]) {
	if last := len(*t) - 1; last >= 0 {
		next = (*t)[last]
	}
	return next
}

// whole reports whether the piece is a tree that is not opened.
func (p piece[T]) whole() bool { return p.branch != nil && !p.opened }
