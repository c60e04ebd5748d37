// Package bucket lays a long list of routes out as a map from prefixes of the path to
// short lists. A client looks up the longest prefix that a path begins with, and
// tries the routes of its list in order: it finds the route that the whole list would give.
//
// Each item has a prefix that every path it matches begins with. The list of a key
// holds, in the order of the whole list,
//
//   - the items whose prefix is the key or a prefix of it, which may match any path there;
//   - the items whose prefix extends the key, unless a longer key has them;
//
// and ends with the first item that matches every path there. So any order is kept, also
// one in which shorter prefixes go first.
//
// Which prefixes are keys depends on the set of items alone. From the ends of the paths
// to their beginning, what has come together below a prefix becomes a key of its own
// when it would make the list of a shorter prefix longer than Full. Two limits:
//
//   - All lists together are at most twice as long as the whole list. An item is repeated
//     in the lists of the keys below it; so a key has at least as many items of its own as
//     it repeats, each in no other list as its own.
//   - A list has at most 2·Full items more than a request for its key has to try anyway
//     (A: those whose prefix is that of a node or shorter), or, where A is large, A items
//     more for each byte that may follow. Items of one prefix are never parted.
package bucket

import "slices"

const (
	// Full is how many items one list may have before it is split. Below that, a list is as
	// fast.
	Full = 64
	// light is the least that becomes a key, as long as a list is not twice Full.
	light = 8
)

// Shape has the functions that a Tree needs of its items.
type Shape[T, L any] struct {
	// Compare is the order of the whole list: a strict total order.
	Compare func(a, b T) int
	// Prefix returns a prefix of every path that the item matches.
	Prefix func(T) string
	// Covers reports whether the item certainly matches every path that begins with key.
	Covers func(item T, key string) bool
	// Single reports whether the item must not be in two lists: its prefix has no longer key
	// below it.
	Single func(T) bool
	// Twins returns the groups of two or more items that match the same requests, so that only
	// the first of each group ever answers. Items of a group have one prefix. Items, the items
	// of a group, and the groups by their first item are in the order of the list.
	Twins func([]T) [][]T
	// Leaf computes the value of a key from its list. It is kept as long as the list is the
	// same.
	Leaf func(key string, list []T) L
}

// Tree is a set of items, divided into lists by keys. It is immutable: Edit returns another
// one, which shares what it can. Equal sets make equal trees, whatever edits led to them.
type Tree[T, L any] struct {
	shape *Shape[T, L]
	top   *above[T]
	root  child[T, L]
}

// item is an item with its prefix, which may be dear to find.
type item[T any] struct {
	prefix string
	value  T
}

// node has the items whose prefixes begin with the bytes on the path to it. If they are few, or
// cannot be divided, the node is a bucket without children. Else it has only the items whose prefix
// ends here, and children. It is immutable after it was settled.
type node[T, L any] struct {
	items    []item[T] // in the order of the list
	children []child[T, L]
	total    int // items here and below
	twins    twins[T]
	settlement[T]
}

// settlement is what follows from a node and the items above it.
type settlement[T any] struct {
	above      *above[T] // nil until the node is settled
	below      *above[T] // what is above the children
	rest       int       // items here and below that no key has
	keys       int       // keys below
	most       int       // items that one node holds, here or below
	twinGroups int       // groups of twins, here and below
}

// child is the node behind one byte more.
type child[T, L any] struct {
	at byte
	*node[T, L]
	leaf *leaf[T, L] // nil when it is no key
}

// above are the items at all shorter prefixes. It is kept with nodes and leaves, so
// that one look says whether they still stand below the same.
type above[T any] struct {
	up     *above[T]
	items  []item[T]
	count  int
	single bool
}

// leaf is the list of a key.
type leaf[T, L any] struct {
	above *above[T]
	own   [][]item[T]
	value L
}

// New returns the tree of items, which must be in the order of the list.
func New[T, L any](shape *Shape[T, L], items []T) *Tree[T, L] {
	t := &Tree[T, L]{shape: shape, top: &above[T]{}}
	t.root.node = build[T, L](t.items(items), 0)
	t.settle()
	return t
}

// Edit returns the tree without the items of gone, which it must have, and with those of come.
func (t *Tree[T, L]) Edit(gone, come []T) *Tree[T, L] {
	edited := *t
	for _, it := range t.items(gone) {
		edited.root.node = t.remove(edited.root.node, 0, it)
	}
	for _, it := range t.items(come) {
		edited.root.node = t.insert(edited.root.node, 0, it)
	}
	edited.settle()
	return &edited
}

func (t *Tree[T, L]) items(values []T) []item[T] {
	items := make([]item[T], len(values))
	for i, value := range values {
		items[i] = item[T]{t.shape.Prefix(value), value}
	}
	return items
}

// Leaves returns the values of all keys, in an order that depends only on the set.
func (t *Tree[T, L]) Leaves() []L {
	leaves := make([]L, 0, 1+t.root.keys)
	if t.root.leaf != nil {
		leaves = append(leaves, t.root.leaf.value)
	}
	return t.root.appendLeaves(leaves)
}

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

// Crowds returns the items of each prefix that has more than most items, in the order of the
// list. most must be at least Full. It visits only prefixes that lead to a result.
func (t *Tree[T, L]) Crowds(most int) [][]T { return t.root.crowds(nil, most) }

func (n *node[T, L]) crowds(crowds [][]T, most int) [][]T {
	if n.most <= most {
		return crowds
	}
	if len(n.items) > most { // too many for a bucket: their prefix is the same
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

// build makes the node of items behind depth bytes.
func build[T, L any](items []item[T], depth int) *node[T, L] {
	if len(items) <= Full {
		return &node[T, L]{items: items, total: len(items)}
	}
	fork := len(shared([][]item[T]{items}, depth))
	n := part[T, L](items, fork)
	for fork > depth { // what all have in common is a chain of nodes
		fork--
		n = &node[T, L]{children: []child[T, L]{{at: items[0].prefix[fork], node: n}}, total: len(items)}
	}
	return n
}

// part makes the node of items that have depth bytes in common, and no more.
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

// pick returns those of which is holds, whose number is known.
func pick[T any](items []item[T], number int, is func(item[T]) bool) []item[T] {
	if number == 0 {
		return nil
	}
	picked := make([]item[T], 0, number)
	for _, it := range items {
		if is(it) {
			picked = append(picked, it)
		}
	}
	return picked
}

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

// unsettled returns a copy that may be changed.
func (n *node[T, L]) unsettled() *node[T, L] {
	out := *n
	out.children, out.settlement.above = slices.Clone(n.children), nil
	return &out
}

func (n *node[T, L]) find(at byte) (index int, found bool) {
	return slices.BinarySearchFunc(n.children, at, func(c child[T, L], at byte) int { return int(c.at) - int(at) })
}

// all appends the slices of items here and below.
func (n *node[T, L]) all(lists [][]item[T]) [][]item[T] {
	lists = append(lists, n.items)
	for _, c := range n.children {
		lists = c.all(lists)
	}
	return lists
}

// with and without give a changed copy.
func (t *Tree[T, L]) with(items []item[T], it item[T]) []item[T] {
	at, _ := t.search(items, it)
	return slices.Concat(items[:at], []item[T]{it}, items[at:])
}

func (t *Tree[T, L]) without(items []item[T], it item[T]) []item[T] {
	at, found := t.search(items, it)
	if !found {
		panic("bucket: an item is removed that is not in the tree")
	}
	return slices.Concat(items[:at], items[at+1:])
}

func (t *Tree[T, L]) search(items []item[T], it item[T]) (index int, found bool) {
	return slices.BinarySearchFunc(items, it, func(a, b item[T]) int { return t.shape.Compare(a.value, b.value) })
}

// sorted joins lists to one, in order.
func (t *Tree[T, L]) sorted(lists [][]item[T]) []item[T] {
	items := slices.Concat(lists...)
	slices.SortFunc(items, func(a, b item[T]) int { return t.shape.Compare(a.value, b.value) })
	return items
}
