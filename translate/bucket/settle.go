package bucket

import (
	"cmp"
	"slices"
)

// chooseKeys decides which prefixes become keys. A key is a prefix that has a list of its own (see the package
// comment). chooseKeys builds the list of each key that is new, or whose items changed. It also computes the
// settlement of each node: the counts by which keys are chosen (see the type settlement). A node that was in the tree
// before an edit keeps its settlement, and chooseKeys skips it. An edit replaces the nodes on the way to a changed
// item by copies without a settlement, so chooseKeys visits only these copies. But if an edit changed the items of a
// node itself, chooseKeys also visits all nodes below this node.
func (t *Tree[T, L]) chooseKeys() {
	root, fresh := t.settled(t.root.node, t.top)
	t.root.node = root
	if fresh {
		t.root.leaf = t.leaf(t.root, t.top)
	}
}

// settled computes the settlement of the node n and of the nodes below n (see the type settlement). It returns the
// node with the settlement. The parameter up has the items above n.
//   - If n already has a settlement for these items above, nothing is computed: the result is n, and fresh is false.
//   - If n has no settlement yet, settled changes n itself.
//   - If n has a settlement for other items above, n also belongs to another tree. settled then changes and returns
//     a copy.
func (t *Tree[T, L]) settled(n *node[T, L], up *above[T]) (settled *node[T, L], fresh bool) {
	switch n.above {
	case up:
		return n, false
	case nil:
	default:
		n = n.unsettled() // other trees contain this node
	}
	t.findTwins(n)
	n.settlement = settlement[T]{above: up, below: t.below(n, up), rest: len(n.items), most: len(n.items), twinGroups: len(n.twins.groups)}
	if n.children == nil {
		return n, true
	}
	changed := make([]bool, len(n.children))
	for i := range n.children {
		c := &n.children[i]
		c.node, changed[i] = t.settled(c.node, n.below)
		n.rest += c.rest
		n.keys += c.keys
		n.most = max(n.most, c.most)
		n.twinGroups += c.twinGroups
	}
	isKey := n.choose()
	for i := range n.children {
		switch c := &n.children[i]; {
		case !isKey[i]:
			c.leaf = nil
		case changed[i] || c.leaf == nil:
			c.leaf = t.leaf(*c, n.below)
		}
	}
	return n, true
}

// below returns the items above the children of n: the items above n itself (up), and those of n. If these items
// are the same as when n was settled last, the result is the same pointer as then. If n has no items or no
// children, the result is up.
func (t *Tree[T, L]) below(n *node[T, L], up *above[T]) *above[T] {
	switch old := n.settlement.below; {
	case n.children == nil || len(n.items) == 0:
		return up
	case old != nil && old.up == up && same(old.items, n.items):
		return old
	}
	single := func(it item[T]) bool { return t.shape.Single(it.value) }
	return &above[T]{up: up, items: n.items, count: up.count + len(n.items), single: up.single || slices.ContainsFunc(n.items, single)}
}

// choose returns, for each child of n, whether the child becomes a key, that is, gets a list of its own.
// Children with many items are examined first; the rules are in the package comment. For each chosen child,
// choose also updates two counts of n. It subtracts the child's items from n.rest, the number of items that have no
// key below n. It adds 1 to n.keys, the number of keys below n.
func (n *node[T, L]) choose() (isKey []bool) {
	isKey = make([]bool, len(n.children))
	if n.rest <= Full || n.below.single {
		return isKey
	}
	order := make([]int, len(n.children))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(n.children[b].rest-n.children[a].rest, a-b) })
	for _, i := range order {
		least := max(1, n.below.count)
		if n.rest <= 2*Full {
			least = max(light, least)
		}
		if n.rest <= Full || n.children[i].rest < least {
			break
		}
		isKey[i] = true
		n.rest -= n.children[i].rest
		n.keys++
	}
	return isKey
}

// leaf returns the leaf (see the type leaf) of the child c, which must be a key: a node whose prefix gets a list of
// items. The list has the key's own items (see the method own) and the items above the child (the parameter up).
// Shape.Leaf makes the value of the leaf from this list. If neither the own items nor up changed, the result is the
// present leaf, c.leaf. If the key has no own items, the result is nil.
func (t *Tree[T, L]) leaf(c child[T, L], up *above[T]) *leaf[T, L] {
	own := c.own(nil)
	switch {
	case len(own) == 0:
		return nil
	case c.leaf != nil && c.leaf.above == up && slices.EqualFunc(c.leaf.own, own, same):
		return c.leaf
	}
	key, lists := shared(own, 0), slices.Clone(own)
	for a := up; a != nil; a = a.up {
		lists = append(lists, a.items)
	}
	list := make([]T, 0, c.rest+up.count)
	for _, it := range t.sorted(lists) {
		if list = append(list, it.value); t.shape.Covers(it.value, key) {
			break
		}
	}
	return &leaf[T, L]{above: up, own: own, value: t.shape.Leaf(key, list)}
}

// own collects the items of n and of the nodes below n, without the items that belong to a key below n. If n is a
// key, these are the key's own items. Each item is an own item of one key only. own appends the collected items to
// the parameter lists, one list for each node, and returns the result.
func (n *node[T, L]) own(lists [][]item[T]) [][]item[T] {
	if len(n.items) > 0 {
		lists = append(lists, n.items)
	}
	for _, c := range n.children {
		if c.leaf == nil {
			lists = c.own(lists)
		}
	}
	return lists
}

// shared returns the longest common prefix of all items in lists. The parameter known is a number of bytes that
// are already known to be equal in all items.
func shared[T any](lists [][]item[T], known int) string {
	key := lists[0][0].prefix
	for _, items := range lists {
		for _, it := range items {
			n := known
			for n < min(len(key), len(it.prefix)) && key[n] == it.prefix[n] {
				n++
			}
			key = key[:n]
		}
	}
	return key
}

// same reports whether two immutable slices are the same memory, or are both empty.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
