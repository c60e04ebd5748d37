package explain

import (
	"cmp"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// TreeNode is a line of the tree of what is served: a Gateway's port, a virtual host or a
// stream, a route, or one match of a rule.
type TreeNode struct {
	Kind  TreeKind    `json:"kind"`
	Name  string      `json:"name"`
	At    store.Place `json:"at,omitzero"`
	Below []*TreeNode `json:"below,omitempty"`

	field manifest.Field
	order []int // among nodes of one kind
	index map[childKey]*TreeNode
}

// childKey finds a node among those below another one.
type childKey struct {
	kind  TreeKind
	field manifest.Field
}

// TreeKind is the type of a TreeNode.
type TreeKind string

// The kinds of a TreeNode.
const (
	PortNode        TreeKind = "port"
	HostNode        TreeKind = "host"
	RouteNode       TreeKind = "route"
	PointNode       TreeKind = "delegates"    // a match that hands requests to the routes below it
	RuleNode        TreeKind = "rule"         // a match that serves
	NotAcceptedNode TreeKind = "not-accepted" // a route that its parent does not accept, or not with all its matches, and why
)

// child returns the node below n for a field, new when it is not there yet.
func (n *TreeNode) child(kind TreeKind, field manifest.Field, order ...int) *TreeNode {
	key := childKey{kind, field}
	if c := n.index[key]; c != nil {
		return c
	}
	node := &TreeNode{Kind: kind, Name: field.Path, field: field, order: order}
	if n.index == nil {
		n.index = map[childKey]*TreeNode{}
	}
	n.index[key] = node
	n.Below = append(n.Below, node)
	return node
}

// sort puts rules in the order of the object, and routes by name behind them.
func (n *TreeNode) sort() {
	slices.SortStableFunc(n.Below, func(a, b *TreeNode) int {
		return cmp.Or(ir.TrueFirst(len(a.order) > 0, len(b.order) > 0), slices.Compare(a.order, b.order),
			manifest.CompareKeys(a.field.Object, b.field.Object), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range n.Below {
		c.sort()
	}
}

// locateTree adds the places, of all nodes at once.
func locateTree(nodes []*TreeNode, places func([]manifest.Field) []store.Place) {
	var all []*TreeNode
	var walk func([]*TreeNode)
	walk = func(nodes []*TreeNode) {
		for _, n := range nodes {
			all = append(all, n)
			walk(n.Below)
		}
	}
	walk(nodes)
	fields := make([]manifest.Field, len(all))
	for i, n := range all {
		fields[i] = n.field
	}
	for i, place := range places(fields) {
		all[i].At = place
	}
}
