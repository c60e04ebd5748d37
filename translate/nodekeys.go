package translate

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// flatKey names a node: a route on a port under one chain of parents.
type flatKey struct {
	Route manifest.Key
	Port  int32 // 0 when the route is attached to no port
	// Via is the chain of parents, root first: "infra/root>team/mid"; "" for a
	// root. A child of two parents is two nodes.
	Via string
}

func (k flatKey) String() string {
	if k.Via == "" {
		return fmt.Sprintf("%s :%d", k.Route, k.Port)
	}
	return fmt.Sprintf("%s :%d below %s", k.Route, k.Port, k.Via)
}

// path is the key's chain of routes, root first.
func (k flatKey) path() string {
	name := k.Route.Namespace + "/" + k.Route.Name
	if k.Via == "" {
		return name
	}
	return k.Via + ">" + name
}

// depth is the number of routes above the node.
func (k flatKey) depth() int {
	if k.Via == "" {
		return 0
	}
	return strings.Count(k.Via, ">") + 1
}

// root returns the route at the top.
func (k flatKey) root() manifest.Key {
	if k.Via == "" {
		return k.Route
	}
	name, _, _ := strings.Cut(k.Via, ">")
	return routeKey(name)
}

// above reports whether the route is in the chain of the node. The node's own route is part of the
// chain.
func (k flatKey) above(route manifest.Key) bool {
	return slices.Contains(strings.Split(k.path(), ">"), route.Namespace+"/"+route.Name)
}

// link returns the link between a child's node and its parent.
func (k flatKey) link() linkKey {
	via, last := "", k.Via
	if i := strings.LastIndexByte(k.Via, '>'); i >= 0 {
		via, last = k.Via[:i], k.Via[i+1:]
	}
	return linkKey{Parent: flatKey{Route: routeKey(last), Port: k.Port, Via: via}, Child: k.Route}
}

// branch returns the branch of a node.
func (k flatKey) branch() branchKey {
	out := branchKey{Root: k.root(), Port: k.Port}
	if k.Via != "" {
		_, below, _ := strings.Cut(k.path(), ">")
		out.Space, _, _ = strings.Cut(below, "/")
	}
	return out
}

// heavy returns the branch of a namespace below the node of a root.
func (k flatKey) heavy(space string) branchKey {
	return branchKey{Root: k.Route, Port: k.Port, Space: space}
}

// linkKey names a pair of a parent's node and a candidate.
type linkKey struct {
	Parent flatKey
	Child  manifest.Key
}

func (k linkKey) String() string { return k.Parent.String() + " → " + k.Child.String() }

// child returns the key of the child's node.
func (k linkKey) child() flatKey {
	return flatKey{Route: k.Child, Port: k.Parent.Port, Via: k.Parent.path()}
}

// pointKey names a Point of a node.
type pointKey struct {
	Node  flatKey
	Point string
}

// branchKey names a root on a port. With Space, it names only the nodes of a namespace directly
// below the root, and all nodes below these. They are a branch of their own if they are many
// (fanoutOut.Heavy).
type branchKey struct {
	Root  manifest.Key
	Port  int32
	Space string // "" for the root itself
}

func (k branchKey) String() string {
	if k.Space == "" {
		return fmt.Sprintf("%s :%d", k.Root, k.Port)
	}
	return fmt.Sprintf("%s :%d, %s", k.Root, k.Port, k.Space)
}

// levelKey names all nodes of a branch with the same number of parents.
type levelKey struct {
	branchKey
	Depth int // 0 for the root itself
}

// routeKey returns the key of the HTTPRoute "namespace/name".
func routeKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: namespace, Name: name}
}
