package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// flatKey is a node of a delegation tree: a route on one port, below one chain of parents.
type flatKey struct {
	Route manifest.Key
	Port  int32 // 0 if the route is attached to no port
	// Via is the chain of parents, root first: "infra/root>team/mid". It is "" for a root. A child of two
	// parents has two nodes.
	Via string
}

func (k flatKey) String() string {
	if k.Via == "" {
		return fmt.Sprintf("%s :%d", k.Route, k.Port)
	}
	return fmt.Sprintf("%s :%d below %s", k.Route, k.Port, k.Via)
}

// path returns the chain of routes from the root to the node, for example "infra/root>team/mid>team/leaf".
func (k flatKey) path() string {
	name := k.Route.Namespace + "/" + k.Route.Name
	if k.Via == "" {
		return name
	}
	return k.Via + ">" + name
}

// depth returns the number of routes above the node, 0 for a root.
func (k flatKey) depth() int {
	if k.Via == "" {
		return 0
	}
	return strings.Count(k.Via, ">") + 1
}

// root returns the key of the route at the top of the node's tree. If the node has no parent, this is the node's own
// route.
func (k flatKey) root() manifest.Key {
	if k.Via == "" {
		return k.Route
	}
	name, _, _ := strings.Cut(k.Via, ">")
	return routeKey(name)
}

// above reports whether a route is in the chain of the node, or is the node's own route.
func (k flatKey) above(route manifest.Key) bool {
	return slices.Contains(strings.Split(k.path(), ">"), route.Namespace+"/"+route.Name)
}

// link returns the key of the link between the node and its parent. The node must not be a root.
func (k flatKey) link() linkKey {
	via, last := "", k.Via
	if i := strings.LastIndexByte(k.Via, '>'); i >= 0 {
		via, last = k.Via[:i], k.Via[i+1:]
	}
	return linkKey{Parent: flatKey{Route: routeKey(last), Port: k.Port, Via: via}, Child: k.Route}
}

// branch returns the branch (see branchKey) in which the rules of the node's children are counted. For a root,
// the branch has no Space. For any other node, Space is the namespace of the first route below the root in the
// node's chain.
func (k flatKey) branch() branchKey {
	out := branchKey{Root: k.root(), Port: k.Port}
	if k.Via != "" {
		_, below, _ := strings.Cut(k.path(), ">")
		out.Space, _, _ = strings.Cut(below, "/")
	}
	return out
}

// heavy returns the key of the branch (see branchKey) for a root's children in one namespace (the parameter space).
// The node k must be the root. If these children can have many rules (see fanoutOut.Heavy), the budget counts the
// children's own rules in this branch. Otherwise it counts them in the branch that k.branch returns.
func (k flatKey) heavy(space string) branchKey {
	return branchKey{Root: k.Route, Port: k.Port, Space: space}
}

// linkKey is a link: the node of a parent (see flatKey), and a candidate for a child of that node. A candidate
// is a route that the parent selects, or whose parentRefs name the parent.
type linkKey struct {
	Parent flatKey
	Child  manifest.Key
}

func (k linkKey) String() string { return k.Parent.String() + " → " + k.Child.String() }

// child returns the key of the candidate's node: the route k.Child as a child of the node k.Parent.
func (k linkKey) child() flatKey {
	return flatKey{Route: k.Child, Port: k.Parent.Port, Via: k.Parent.path()}
}

// pointKey is a delegating match (route.Point) of a node, and Point is the name of that match. A node is a
// route in a delegation tree (see flatKey).
type pointKey struct {
	Node  flatKey
	Point string
}

// branchKey identifies a branch: delegated rules below one root on one port that have a common budget (see
// budgetOut). A root has several branches:
//   - The branch without a Space has the rules of the root's children.
//   - The branch whose Space is a namespace belongs to the root's children in that namespace. It has the rules of
//     all routes below these children, in any namespace. If these children can have many rules (fanoutOut.Heavy), it
//     has the children's own rules, too; the branch without a Space then does not have them.
type branchKey struct {
	Root  manifest.Key
	Port  int32
	Space string // a namespace, or ""
}

func (k branchKey) String() string {
	if k.Space == "" {
		return fmt.Sprintf("%s :%d", k.Root, k.Port)
	}
	return fmt.Sprintf("%s :%d, %s", k.Root, k.Port, k.Space)
}

// levelKey identifies the nodes (flatKey) of a branch that have the same depth.
type levelKey struct {
	branchKey
	Depth int // the number of routes above the node; 0 for the root itself
}

// routeKey returns the key of the HTTPRoute with a name of the form "namespace/name".
func routeKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: namespace, Name: name}
}

func compareNodes(a, b flatKey) int {
	return cmp.Or(manifest.CompareKeys(a.Route, b.Route), cmp.Compare(a.Port, b.Port), strings.Compare(a.Via, b.Via))
}
