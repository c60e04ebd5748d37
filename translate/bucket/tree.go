// Package bucket divides a long list of routes into short lists, by prefixes of the path. Each such prefix is a
// key. A client looks up the longest key that a path begins with, and tries the routes of its list in order. It
// finds the same route as in the whole list.
//
// Each item has a prefix: every path that the item matches begins with this prefix. The list of a key contains,
// in the order of the whole list,
//
//   - the items whose prefix is the key or shorter: they may match any path that begins with the key;
//   - the items whose prefix is longer than the key and begins with it, unless a longer key has them.
//
// The list ends with the first item that matches every path under the key. So any order of the whole list is
// kept, also an order in which shorter prefixes come first.
//
// Which prefixes are keys depends on the set of items alone. Keys are chosen from the longest prefixes to the
// shortest. The items below a prefix get a key of their own if they would make the list of a shorter key longer
// than Full. There are two limits:
//
//   - All lists together are at most twice as long as the whole list. Items of a key are repeated in the lists
//     of longer keys. So a key has at least as many items of its own as it repeats. Each item is an own item of
//     one list only.
//   - A request for a key must try A items in any case: those whose prefix is that of the key's node, or
//     shorter. The list of the key has at most 2·Full items more. If A is large, the list has at most A items
//     more for each byte that may follow. Items with the same prefix are never divided.
package bucket

import "slices"

const (
	// Full is the largest number of items in a list that is not divided. Shorter lists are not faster.
	Full = 64
	// light is the least number of items for which a key is made if the shorter key, without it, has at most 2·Full
	// items of its own.
	light = 8
)

// Shape has the functions that a Tree calls for its items.
type Shape[T, L any] struct {
	// Compare is the order of the whole list: a strict total order.
	Compare func(a, b T) int
	// Prefix returns a prefix of every path that the item matches.
	Prefix func(T) string
	// Covers reports whether the item certainly matches every path that begins with key.
	Covers func(item T, key string) bool
	// Single reports whether the item must be in one list only. Without Single, an item is repeated in the list of each
	// key that is longer than the item's prefix and begins with the prefix (see the package comment). If Single is true
	// for an item, the Tree makes no such longer keys.
	Single func(T) bool
	// Twins finds twins, which are items that match the same requests. It returns groups of two or more twins. In a
	// group, all items have the same prefix, and only the first item ever answers. The argument is sorted by Compare.
	// Twins must sort the items of each group by Compare, too, and the groups by their first items.
	Twins func([]T) [][]T
	// Leaf returns the value of a key from its list. The Tree calls it again if the list changes.
	Leaf func(key string, list []T) L
}

// Tree has a set of items, divided into short lists: one list for each key (see the package comment). A Tree is
// immutable: Edit returns another Tree, and both share as many nodes as possible. Trees with the same items have the
// same keys and lists, whatever edits led to them.
type Tree[T, L any] struct {
	shape *Shape[T, L]
	top   *above[T]
	root  child[T, L]
}

// item is a value with its prefix. The prefix is stored because it may be expensive to compute.
type item[T any] struct {
	prefix string
	value  T
}

// node is a node of a tree of bytes (a trie). The path from the root to a node is a text. The items in the node and
// below are those whose prefix begins with this text. A node of few items, or of items with one prefix, is a bucket
// without children. Any other node has children, and itself has only the items whose prefix is exactly the text. A
// node is immutable once it is settled.
type node[T, L any] struct {
	items    []item[T] // in the order of Shape.Compare
	children []child[T, L]
	total    int // the number of items in this node and below
	twins    twins[T]
	settlement[T]
}

// settlement has the values of a node that are computed when the keys of its tree are chosen (see chooseKeys).
// The fields above, below, rest and keys depend on the items above the node, that is, on items with shorter
// prefixes. The fields most and twinGroups depend only on the items in the node and below.
type settlement[T any] struct {
	above      *above[T] // the items above the node; nil until the node is settled
	below      *above[T] // the items above each child of the node: those above the node, and the node's own
	rest       int       // the number of items in the subtree of the node, without the subtrees of descendants that are keys
	keys       int       // the number of descendants that are keys
	most       int       // the largest number of items in one node, among this node and its descendants
	twinGroups int       // the number of groups of twins (items that match the same requests), descendants included
}

// child is a node below another node. The field at is the byte that leads from the parent node to the child (see
// node). The root of a Tree is a child, too, but without such a byte.
type child[T, L any] struct {
	at byte
	*node[T, L]
	leaf *leaf[T, L] // the list of the child, if the child is a key (see chooseKeys); nil otherwise
}

// above has all items above a node: those in the ancestors of the node. It is a linked list with an element for each
// ancestor that has items. Nodes with the same items above them share one *above.
type above[T any] struct {
	up     *above[T] // the items above the nearest ancestor that has items
	items  []item[T] // the items of this ancestor
	count  int       // the number of all items
	single bool      // Shape.Single is true for at least one of all items
}

// leaf has the value of a key, and the items of the list that the value was made from: above are the items with
// shorter prefixes, and own are the key's own items.
type leaf[T, L any] struct {
	above *above[T]
	own   [][]item[T]
	value L
}

// New returns a Tree of the items. The items must be sorted by shape.Compare.
func New[T, L any](shape *Shape[T, L], items []T) *Tree[T, L] {
	t := &Tree[T, L]{shape: shape, top: &above[T]{}}
	t.root.node = build[T, L](t.items(items), 0)
	t.chooseKeys()
	return t
}

// Edit returns a tree with the items of t, without oldItems, and with newItems. Edit panics if t lacks one of the
// oldItems. t itself does not change.
func (t *Tree[T, L]) Edit(oldItems, newItems []T) *Tree[T, L] {
	edited := *t
	for _, it := range t.items(oldItems) {
		edited.root.node = t.remove(edited.root.node, 0, it)
	}
	for _, it := range t.items(newItems) {
		edited.root.node = t.insert(edited.root.node, 0, it)
	}
	edited.chooseKeys()
	return &edited
}

// items returns values with their prefixes.
func (t *Tree[T, L]) items(values []T) []item[T] {
	items := make([]item[T], len(values))
	for i, value := range values {
		items[i] = item[T]{t.shape.Prefix(value), value}
	}
	return items
}

// Leaves returns the values of all keys, in an order that depends only on the set of items.
func (t *Tree[T, L]) Leaves() []L {
	leaves := make([]L, 0, 1+t.root.keys)
	if t.root.leaf != nil {
		leaves = append(leaves, t.root.leaf.value)
	}
	return t.root.appendLeaves(leaves)
}

// appendLeaves appends the values of the keys below n.
func (n *node[T, L]) appendLeaves(leaves []L) []L {
	if n.keys == 0 {
		return leaves
	}
	for _, c := range n.children {
		if c.leaf != nil {
			leaves = append(leaves, c.leaf.value)
		}
		leaves = c.appendLeaves(leaves)
	}
	return leaves
}

// Crowds finds the prefixes that too many items have: more items than the number in the parameter most, which must
// be at least Full. It returns one list for each such prefix, with the items of this prefix in the order of the
// whole list. Crowds visits only nodes that lead to a result.
func (t *Tree[T, L]) Crowds(most int) [][]T { return t.root.crowds(nil, most) }

// crowds appends the results of Crowds for n and the nodes below.
func (n *node[T, L]) crowds(crowds [][]T, most int) [][]T {
	if n.most <= most {
		return crowds
	}
	if len(n.items) > most { // too many for a bucket: all have the same prefix
		crowd := make([]T, len(n.items))
		for i, it := range n.items {
			crowd[i] = it.value
		}
		crowds = append(crowds, crowd)
	}
	for _, c := range n.children {
		crowds = c.crowds(crowds, most)
	}
	return crowds
}

// build returns a node with the given items. The parameter depth is the number of bytes from the root of the tree
// to the node. The prefixes of all items must begin with the same bytes up to that depth.
func build[T, L any](items []item[T], depth int) *node[T, L] {
	if len(items) <= Full {
		return &node[T, L]{items: items, total: len(items)}
	}
	fork := len(shared([][]item[T]{items}, depth))
	n := part[T, L](items, fork)
	for fork > depth { // a chain of nodes for the bytes that all items have in common
		fork--
		n = &node[T, L]{children: []child[T, L]{{at: items[0].prefix[fork], node: n}}, total: len(items)}
	}
	return n
}

// part returns a node for the given items. The parameter depth is the number of first bytes that the prefixes of
// all items have in common. Items whose prefix ends after these bytes stay in the node; all others go to a child
// for their next byte.
func part[T, L any](items []item[T], depth int) *node[T, L] {
	var sizes [256]int
	here := 0
	for _, it := range items {
		if len(it.prefix) > depth {
			sizes[it.prefix[depth]]++
		} else {
			here++
		}
	}
	if here == len(items) {
		return &node[T, L]{items: items, total: here}
	}
	n := &node[T, L]{total: len(items), items: pick(items, here, func(it item[T]) bool { return len(it.prefix) == depth })}
	for at, size := range sizes {
		if size > 0 {
			group := pick(items, size, func(it item[T]) bool { return len(it.prefix) > depth && int(it.prefix[depth]) == at })
			n.children = append(n.children, child[T, L]{at: byte(at), node: build[T, L](group, depth+1)})
		}
	}
	n.children = slices.Clip(n.children)
	return n
}

// pick returns the items for which the function keep returns true. The parameter number is the number of these items.
func pick[T any](items []item[T], number int, keep func(item[T]) bool) []item[T] {
	if number == 0 {
		return nil
	}
	picked := make([]item[T], 0, number)
	for _, it := range items {
		if keep(it) {
			picked = append(picked, it)
		}
	}
	return picked
}

// insert returns a node with the items of n and one more item (it). The parameter depth is the number of bytes
// from the root of the tree to n.
func (t *Tree[T, L]) insert(n *node[T, L], depth int, it item[T]) *node[T, L] {
	if n.children == nil {
		return build[T, L](t.with(n.items, it), depth)
	}
	n = n.unsettled()
	n.total++
	if len(it.prefix) == depth {
		n.items = t.with(n.items, it)
		return n
	}
	at, found := n.find(it.prefix[depth])
	if found {
		n.children[at].node = t.insert(n.children[at].node, depth+1, it)
	} else {
		n.children = slices.Insert(n.children, at, child[T, L]{at: it.prefix[depth], node: build[T, L]([]item[T]{it}, depth+1)})
	}
	return n
}

// remove returns a node with the items of n except one (it). The parameter depth is the number of bytes from
// the root of the tree to n.
func (t *Tree[T, L]) remove(n *node[T, L], depth int, it item[T]) *node[T, L] {
	if n.children == nil {
		return build[T, L](t.without(n.items, it), depth)
	}
	n = n.unsettled()
	n.total--
	if len(it.prefix) == depth {
		n.items = t.without(n.items, it)
	} else {
		at, _ := n.find(it.prefix[depth])
		n.children[at].node = t.remove(n.children[at].node, depth+1, it)
		if n.children[at].total == 0 {
			n.children = slices.Delete(n.children, at, at+1)
		}
	}
	if n.total <= Full || len(n.children) == 0 {
		return build[T, L](t.sorted(n.all(nil)), depth)
	}
	return n
}

// unsettled returns a copy of n that may be changed.
func (n *node[T, L]) unsettled() *node[T, L] {
	out := *n
	out.children, out.settlement.above = slices.Clone(n.children), nil
	return &out
}

// find returns the index of the child for a byte (at). If there is no such child, found is false, and index is
// where that child belongs.
func (n *node[T, L]) find(at byte) (index int, found bool) {
	return slices.BinarySearchFunc(n.children, at, func(c child[T, L], at byte) int { return int(c.at) - int(at) })
}

// all appends the items of n and of all nodes below n to the parameter lists, as one list for each node. In contrast
// to own, all also appends the items that belong to a key below n.
func (n *node[T, L]) all(lists [][]item[T]) [][]item[T] {
	lists = append(lists, n.items)
	for _, c := range n.children {
		lists = c.all(lists)
	}
	return lists
}

// with returns a copy of items with another item, in order.
func (t *Tree[T, L]) with(items []item[T], it item[T]) []item[T] {
	at, _ := t.search(items, it)
	return slices.Concat(items[:at], []item[T]{it}, items[at:])
}

// without returns a copy of items without an item. It panics if items does not contain the item.
func (t *Tree[T, L]) without(items []item[T], it item[T]) []item[T] {
	at, found := t.search(items, it)
	if !found {
		panic("bucket: an item is removed that is not in the tree")
	}
	return slices.Concat(items[:at], items[at+1:])
}

// search returns the index of an item in items. If items does not contain the item, found is false, and index
// is where to insert the item.
func (t *Tree[T, L]) search(items []item[T], it item[T]) (index int, found bool) {
	return slices.BinarySearchFunc(items, it, func(a, b item[T]) int { return t.shape.Compare(a.value, b.value) })
}

// sorted returns the items of all lists as one list in order.
func (t *Tree[T, L]) sorted(lists [][]item[T]) []item[T] {
	items := slices.Concat(lists...)
	slices.SortFunc(items, func(a, b item[T]) int { return t.shape.Compare(a.value, b.value) })
	return items
}
