package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// stream returns the node of an ir.Stream. Below it are the route that gets the connections, and the routes
// with a lower precedence. If no route gets the connections, the node's name says so.
func (t *treeMaker) stream(port *ir.Port, stream *ir.Stream) *TreeNode {
	node := &TreeNode{Kind: HostNode, Name: strings.Join(stream.Domains, ", "), domains: stream.Domains}
	switch {
	case port.UDP:
		node.Name = "datagrams"
	case stream.Domains == nil:
		node.Name = "connections"
	}
	if stream.Route == nil {
		node.Name += " → closed, no route of listener " + stream.Listener + " has it"
		return node
	}
	key := stream.Route.Origin.Key
	at := t.route(node, key)
	rule := at.child(RuleNode, manifest.Field{Object: key, Path: "spec.rules[0]"})
	rule.To = handedTo(stream.Route)
	rule.Name = "→ " + rule.To
	for _, rival := range stream.Behind {
		lost := at.child(NotAcceptedNode, manifest.Field{Object: rival.Route, Path: "spec.parentRefs"})
		lost.Why = key.String() + " takes precedence: " + rival.Why
		lost.Name = rival.Route.String() + ": " + lost.Why
	}
	return node
}

// handedTo returns the backends of a TCPRoute, TLSRoute or UDPRoute as text, with their weights if there are
// several. The text for a backend reference that is not resolved is "closed".
func handedTo(route *ir.StreamRoute) string {
	var names []string
	for _, b := range route.Backends {
		name := cmp.Or(b.Cluster, "closed")
		if len(route.Backends) > 1 {
			name += fmt.Sprintf(" (%d)", b.Weight)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
