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
	Kind TreeKind `json:"kind"`
	// Name is the line as people read it: what the node is, and what follows here in parts.
	Name string `json:"name"`
	// Match says which requests a match takes; To where they go, or the routes that it hands them to.
	Match string `json:"match,omitempty"`
	To    string `json:"to,omitempty"`
	// Why says why a route or listener is not accepted, and of a rule why it answers 500 or gets no request.
	Why string `json:"why,omitempty"`
	// Code is the code of the problem that Why quotes, if it quotes one.
	Code string `json:"code,omitempty"`
	// Object and Field are what the node is written as, and At is where.
	Object manifest.Key `json:"object,omitzero"`
	Field  string       `json:"field,omitempty"`
	At     store.Place  `json:"at,omitzero"`
	Below  []*TreeNode  `json:"below,omitempty"`

	field manifest.Field
	order []int // among nodes of one kind
	index map[childKey]*TreeNode

	domains    []string       // of a HostNode
	path       *ir.Path       // of a node that serves
	delegation *ir.Delegation // of a PointNode that the View knows
}

// Shadowed reports whether the node is a match that gets no request, because another one takes them all.
func (n *TreeNode) Shadowed() bool { return n.Code == codeShadowed }

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
	RestNode        TreeKind = "rest"         // what becomes of requests that no route below a match takes
	BrokenNode      TreeKind = "broken"       // heads the routes that an error keeps from serving anywhere
	UnservedNode    TreeKind = "unserved"     // heads what a Gateway or ListenerSet does not accept and that no port has
	NotAcceptedNode TreeKind = "not-accepted" // a route that its parent does not accept, or not with all its matches, a listener that serves nothing, and why
)

// setMatch names a match that serves.
func (n *TreeNode) setMatch(match *ir.Match, to string) {
	n.Match, n.To, n.path = MatchWords(*match), to, &match.Path
	n.Name = n.Match + " → " + n.To
}

// notAcceptedNode returns the node of a route that is not accepted.
func notAcceptedNode(route manifest.Key, why string) *TreeNode {
	return &TreeNode{Kind: NotAcceptedNode, Name: route.String() + ": " + why, Why: why, field: manifest.Field{Object: route}}
}

// mistakeNode returns the node of a route that an error keeps from serving. Its place is that of
// the error, because the folder may have no valid version of the route.
func mistakeNode(p *manifest.Problem) *TreeNode {
	n := notAcceptedNode(p.Object, p.Code+": "+p.Message)
	n.At = store.Place{File: p.File, Line: p.Line, Column: p.Column}
	return n
}

// child returns the node below n for a field. It adds the node if it does not exist.
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

// sort orders the nodes below: rules in the order of the object, then routes by name, then the rest
// that no route serves.
func (n *TreeNode) sort() {
	slices.SortStableFunc(n.Below, func(a, b *TreeNode) int {
		return cmp.Or(ir.TrueFirst(a.Kind != RestNode, b.Kind != RestNode), ir.TrueFirst(len(a.order) > 0, len(b.order) > 0), slices.Compare(a.order, b.order),
			manifest.CompareKeys(a.field.Object, b.field.Object), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range n.Below {
		c.sort()
	}
}

// locate sets the objects, fields and places of all nodes. places may be nil.
func locate(nodes []*TreeNode, places func([]manifest.Field) []store.Place) {
	var all []*TreeNode
	var walk func([]*TreeNode)
	walk = func(nodes []*TreeNode) {
		for _, n := range nodes {
			n.Object, n.Field = n.field.Object, n.field.Path
			all = append(all, n)
			walk(n.Below)
		}
	}
	walk(nodes)
	if places != nil {
		LocateNodes(all, places)
	}
}

// LocateNodes sets the places of these nodes, not of the nodes below them.
func LocateNodes(nodes []*TreeNode, places func([]manifest.Field) []store.Place) {
	fields := make([]manifest.Field, len(nodes))
	for i, n := range nodes {
		fields[i] = n.field
	}
	for i, place := range places(fields) {
		if nodes[i].At == (store.Place{}) {
			nodes[i].At = place
		}
	}
}
