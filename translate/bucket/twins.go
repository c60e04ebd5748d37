package bucket

// twins are the groups of a node's items that match the same requests, and the items that they were computed
// from (of).
type twins[T any] struct {
	of     []item[T]
	groups [][]T
}

// findTwins computes the twins of a node, unless its items are still the same.
func (t *Tree[T, L]) findTwins(n *node[T, L]) {
	if same(n.twins.of, n.items) {
		return
	}
	values := make([]T, len(n.items))
	for i, it := range n.items {
		values[i] = it.value
	}
	n.twins = twins[T]{n.items, t.shape.Twins(values)}
}

// Twins returns the groups of items that match the same requests (Shape.Twins), in an order that depends only
// on the set of items. It visits only nodes that lead to a result.
func (t *Tree[T, L]) Twins() [][]T { return t.root.appendTwins(nil) }

// appendTwins appends the groups of n and of the nodes below.
func (n *node[T, L]) appendTwins(groups [][]T) [][]T {
	if n.twinGroups == 0 {
		return groups
	}
	groups = append(groups, n.twins.groups...)
	for _, c := range n.children {
		groups = c.appendTwins(groups)
	}
	return groups
}
