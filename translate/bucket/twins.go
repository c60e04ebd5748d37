package bucket

// twins are the groups of items that match the same requests, among the items of one node.
type twins[T any] struct {
	of     []item[T] // the items of the node when the groups were computed
	groups [][]T
}

// findTwins computes the groups of items of a node that match the same requests (see twins). If the node's
// items are the same as at the last computation, nothing changes.
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

// Twins returns the groups of items that match the same requests (Shape.Twins). The order of the groups depends
// only on the set of items. Only nodes that lead to a result are visited.
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
