package explain

import (
	"cmp"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// TreeNode is a line of the tree: a port of a Gateway, a virtual host, connections or datagrams of a listener,
// a route, one match of a rule, or an object that is not accepted.
type TreeNode struct {
	Kind TreeKind `json:"kind"`
	// Name is the line as people read it: the object, and the texts of Match, To and Why.
	Name string `json:"name"`
	// Match describes the requests that the match selects. To is where the rule sends them, or the child routes
	// that it delegates them to.
	Match string `json:"match,omitempty"`
	To    string `json:"to,omitempty"`
	// Why says why a route or listener is not accepted, why a rule answers an error or gets no requests, why a
	// port is not programmed, or what is wrong with the newest version of a Stale object.
	Why string `json:"why,omitempty"`
	// Code is the code of the problem that Why quotes, if it quotes one.
	Code string `json:"code,omitempty"`
	// Fails is what a rule answers because of Why: "500" or "UNAVAILABLE". It is "" for other nodes.
	Fails string `json:"fails,omitempty"`
	// Stale is true for a route, and for the port of a Gateway, if the newest version of the object is invalid, and its
	// last valid version is served. At is then the place of the error.
	Stale bool `json:"stale,omitempty"`
	// Object and Field are the object and field that the node is about. At is the place where they are written.
	Object manifest.Key `json:"object,omitzero"`
	Field  string       `json:"field,omitempty"`
	At     store.Place  `json:"at,omitzero"`
	Below  []*TreeNode  `json:"below,omitempty"`

	field manifest.Field
	order []int // the order among nodes of one kind
	index map[childKey]*TreeNode

	domains    []string       // of a HostNode
	path       *ir.Path       // of a RuleNode, RestNode or PointNode
	delegation *ir.Delegation // of a PointNode whose delegation is in the View
}

// Shadowed reports whether the node is a match that gets no request, because another match gets them all.
func (n *TreeNode) Shadowed() bool { return n.Code == codeShadowed }

// childKey is the key of a node among the nodes directly below another node.
type childKey struct {
	kind  TreeKind
	field manifest.Field
}

// TreeKind is the kind of a TreeNode.
type TreeKind string

// The kinds of a TreeNode.
const (
	PortNode   TreeKind = "port"
	HostNode   TreeKind = "host"
	RouteNode  TreeKind = "route"
	PointNode  TreeKind = "delegates" // a match that delegates requests to the routes below it
	RuleNode   TreeKind = "rule"      // a match that sends requests to backends, or answers them
	RestNode   TreeKind = "rest"      // what happens to requests that no child route of a match serves
	BrokenNode TreeKind = "broken"    // the list of routes that are served nowhere because of an error
	// UnservedNode is a Gateway or ListenerSet, with the list of its NotAcceptedNodes that are below no PortNode.
	UnservedNode TreeKind = "unserved"
	// NotAcceptedNode is one object that is not accepted: a Gateway, ListenerSet or listener, or a route that its
	// parent does not accept, entirely or in part.
	NotAcceptedNode TreeKind = "not-accepted"
)

// setMatch sets Match, To and path of a node. It also sets Name to a text that consists of Match and To.
func (n *TreeNode) setMatch(match *ir.Match, to string) {
	n.Match, n.To, n.path = MatchWords(*match), to, &match.Path
	n.Name = n.Match + " → " + n.To
}

// notAcceptedNode returns the node of a route, Gateway or ListenerSet that is not accepted.
func notAcceptedNode(route manifest.Key, why string) *TreeNode {
	return &TreeNode{Kind: NotAcceptedNode, Name: route.String() + ": " + why, Why: why, field: manifest.Field{Object: route}}
}

// mistakeNode returns the node of a route that is not served because of an error. The place of the node is the place
// of the error, because the folder may have no valid version of the route.
func mistakeNode(p *manifest.Problem) *TreeNode {
	n := notAcceptedNode(p.Object, p.Code+": "+p.Message)
	n.At = store.Place{File: p.File, Line: p.Line, Column: p.Column}
	return n
}

// child returns the node directly below n with this kind and field. If there is none, it adds one. order is the
// node's position among the nodes of its kind (see sort), for example the indexes of rule and match.
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

// sort orders all nodes below n: rules as in the object, then routes by name. Nodes of the kind RestNode are
// last.
func (n *TreeNode) sort() {
	slices.SortStableFunc(n.Below, func(a, b *TreeNode) int {
		return cmp.Or(ir.TrueFirst(a.Kind != RestNode, b.Kind != RestNode), ir.TrueFirst(len(a.order) > 0, len(b.order) > 0), slices.Compare(a.order, b.order),
			manifest.CompareKeys(a.field.Object, b.field.Object), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range n.Below {
		c.sort()
	}
}

// locate sets Object, Field and At of all nodes. It does not set At if places is nil.
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

// LocateNodes sets At of each given node, unless At is set. It does not change the nodes below them.
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
