package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// maxNotAcceptedShown is the largest number of routes that a node of a tree lists as not accepted.
const maxNotAcceptedShown = 100

// Tree returns what is served: a node for each port, its virtual hosts and their routes. Below a delegating
// rule are its child routes, and the routes that the rule does not accept. Listeners and routes that a Gateway
// does not accept are below the Gateway's port, or in nodes after the ports if they belong to no port. The last
// node has the routes that an error keeps from being served. The result has only what filter selects. Tree uses
// only the View, Problems, Statuses, Stale and Places of facts.
func Tree(facts Facts, filter TreeFilter) []*TreeNode {
	t := newTreeMaker(&facts)
	var out []*TreeNode
	for _, gateway := range facts.View.Gateways {
		for _, port := range gateway.Ports {
			node := &TreeNode{Kind: PortNode, Name: portName(gateway.Name, port.Port), field: manifest.Field{Object: ir.GatewayKey(gateway.Name)}}
			for _, host := range port.Hosts {
				if host.Len > 0 || host.Domain != "*" {
					node.Below = append(node.Below, t.host(port.Port, host))
				}
			}
			for i := range port.Port.Streams {
				node.Below = append(node.Below, t.stream(port.Port, &port.Port.Streams[i]))
			}
			node.Below = append(node.Below, t.ofPort(port.Port)...)
			t.markStale(node)
			t.markUnprogrammed(node, port.Port)
			out = append(out, node)
		}
	}
	out = append(out, t.unserved()...)
	if broken := t.broken(out); broken != nil {
		out = append(out, broken)
	}
	out = filter.apply(out)
	locate(out, facts.Places)
	return out
}

// treeMaker makes the nodes of a tree. It has what the View, Problems and Statuses of Facts say about objects.
type treeMaker struct {
	notAccepted map[manifest.Key][]*TreeNode // nodes of child routes that a parent route does not accept, by parent
	delegations map[delegationKey]*ir.Delegation
	mistakes    map[manifest.Key]manifest.Problem   // the first error of each object
	coded       map[codedKey]manifest.Problem       // the first error of each object with each code
	faults      map[manifest.Field]manifest.Problem // see addFault
	known       map[manifest.Key]bool               // the objects that have a status
	stale       map[manifest.Key]store.Stale        // the objects whose last valid version is served
	// unprogrammed has, for listeners that are not programmed, the reason and message.
	unprogrammed map[binding]string
	// bindings has nodes for Gateways, ListenerSets and listeners that are not accepted, and for routes that such an
	// object does not accept (see readBindings). The key is the Gateway, ListenerSet or listener below which the tree
	// shows the node. A node is removed from bindings when it gets its place in the tree.
	bindings map[binding][]*TreeNode
}

// delegationKey identifies a delegating match: a match of a rule that delegates its requests to child routes.
// way lists the matches from the root route to this match, each as "namespace/name 0.1>" with the indexes of
// rule and match.
type delegationKey struct {
	port int32
	way  string
}

// newTreeMaker returns a treeMaker with the data of facts.
func newTreeMaker(facts *Facts) *treeMaker {
	t := &treeMaker{
		notAccepted: notAcceptedChildren(facts.Statuses), delegations: map[delegationKey]*ir.Delegation{}, mistakes: map[manifest.Key]manifest.Problem{},
		coded: map[codedKey]manifest.Problem{}, faults: map[manifest.Field]manifest.Problem{}, known: map[manifest.Key]bool{}, bindings: map[binding][]*TreeNode{},
		stale: facts.Stale, unprogrammed: map[binding]string{},
	}
	if facts.View.Delegations != nil {
		all := facts.View.Delegations()
		for i := range all {
			t.delegations[delegationKey{all[i].Port, wayOf(all[i].Chain)}] = &all[i]
		}
	}
	for _, p := range facts.Problems {
		t.addProblem(&p)
	}
	for _, s := range facts.Statuses {
		t.known[s.Key] = true
	}
	t.readBindings(facts)
	return t
}

// addProblem stores p if it is the first error of its object, or the first error of its object with the same code. It
// also passes p to addFault, which stores the problems of single rules and matches.
func (t *treeMaker) addProblem(p *manifest.Problem) {
	if p.Severity == manifest.Error {
		if _, more := t.mistakes[p.Object]; !more {
			t.mistakes[p.Object] = *p
		}
		if _, more := t.coded[codedKey{p.Object, p.Code}]; !more {
			t.coded[codedKey{p.Object, p.Code}] = *p
		}
	}
	t.addFault(p)
}

// portName returns the name of a port's node. If the port has only one listener, and the listener is not in a
// ListenerSet, the node's name contains the listener's name. If the port has several listeners, the node's name
// contains their number, and the nodes of virtual hosts have the names of listeners.
func portName(gateway string, port *ir.Port) string {
	name := fmt.Sprintf("Gateway %s, port %d", gateway, port.Port)
	switch {
	case len(port.Listeners) > 1:
		return fmt.Sprintf("%s, %d listeners", name, len(port.Listeners))
	case len(port.Listeners) == 1 && port.Listeners[0].Object.Kind == "Gateway":
		return name + ", listener " + port.Listeners[0].Name
	}
	return name
}

// wayOf returns, as text, the way from the root route to a delegating match (see delegationKey.way). The parameter
// chain has the matches on this way. The last of them is the delegating match itself.
func wayOf(chain []ir.Hop) string {
	var way strings.Builder
	for _, hop := range chain {
		way.WriteString(matchWay(hop.Route, hop.Rule, hop.Match))
	}
	return way.String()
}

// matchWay returns one step of the text in delegationKey.way. For the match 1 of the rule 0 of a route, the step is
// "namespace/name 0.1>".
func matchWay(route manifest.Key, rule, match int) string {
	return fmt.Sprintf("%s/%s %d.%d>", route.Namespace, route.Name, rule, match)
}

// host returns the node of a virtual host, with all nodes below it. The node's name contains the name of the
// listener if the port has several listeners, or if the listener is in a ListenerSet.
func (t *treeMaker) host(port *ir.Port, host ir.HostView) *TreeNode {
	node := &TreeNode{Kind: HostNode, Name: host.Domain, domains: []string{host.Domain}}
	if own, ok := listenerOf(port.Listeners, hostname(host.Domain)); ok && (own.Object.Kind == "ListenerSet" || len(port.Listeners) > 1) {
		node.Name += fmt.Sprintf(" (listener %s)", own.Name)
		if own.Object.Kind == "ListenerSet" {
			node.Name = fmt.Sprintf("%s (listener %s of %s)", host.Domain, own.Name, own.Object)
		}
		node.field = manifest.Field{Object: own.Object, Path: listenerField(own)}
	}
	for rule := range host.Rules {
		if rule.Preflight == nil { // it is in no route
			t.insert(node, int32(port.Port), rule)
		}
	}
	t.addNotAccepted(node)
	node.sort()
	return node
}

// insert adds the node of a rule below the node of its virtual host and the nodes of the delegating matches
// that lead to the rule. If the rule answers the requests that no child route of a delegating match serves, the
// node is a RestNode below that match.
func (t *treeMaker) insert(host *TreeNode, port int32, rule *ir.Rule) {
	at, way := host, ""
	for _, hop := range rule.Chain {
		way += matchWay(hop.Route, hop.Rule, hop.Match)
		at = t.point(t.route(at, hop.Route), hop, t.delegations[delegationKey{port, way}])
	}
	key, i, j := rule.Source.Key, rule.Position[len(rule.Position)-2], rule.Position[len(rule.Position)-1]
	source := t.route(at, key)
	if d := t.delegations[delegationKey{port, way + matchWay(key, i, j)}]; d != nil && rule.SignIn.IsZero() {
		rest := t.point(source, d.Chain[len(d.Chain)-1], d).child(RestNode, matchField(key, i, j))
		rest.setMatch(&rule.Match, leadsTo(rule))
		rest.Name = "what no route here takes → " + rest.To
		t.explainFault(rest, rule, host.domains)
		return
	}
	if !rule.SignIn.IsZero() {
		field := manifest.Field{Object: key, Path: signInPlace(rule).Field}
		leaf := &TreeNode{Kind: RuleNode, field: field, order: []int{i, j, 1}}
		leaf.setMatch(&rule.Match, "oauth2 of "+rule.SignIn.String())
		source.Below = append(source.Below, leaf)
		return
	}
	leaf := source.child(RuleNode, matchField(key, i, j), i, j, 1)
	leaf.setMatch(&rule.Match, leadsTo(rule))
	if rule.Guard {
		leaf.Name += ", for what no route below takes"
	}
	t.explainFault(leaf, rule, host.domains)
}

// route returns the node of a route directly below n. If the node does not exist, it adds the node, with nodes
// for the child routes that the route does not accept.
func (t *treeMaker) route(n *TreeNode, key manifest.Key) *TreeNode {
	before := len(n.Below)
	node := n.child(RouteNode, manifest.Field{Object: key})
	if len(n.Below) > before {
		node.Name = key.String()
		node.Below = shownNotAccepted(t.notAccepted[key])
		t.markStale(node)
	}
	return node
}

// point returns the node of a delegating match (PointNode), below the node of its route. It adds the node if it
// does not exist. d is the delegation in the View, or nil if the View does not have it.
func (t *treeMaker) point(route *TreeNode, hop ir.Hop, d *ir.Delegation) *TreeNode {
	before := len(route.Below)
	node := route.child(PointNode, matchField(hop.Route, hop.Rule, hop.Match), hop.Rule, hop.Match)
	if len(route.Below) == before {
		return node
	}
	if d != nil {
		node.delegation = d
		node.setMatch(d.Match, strings.Join(d.To, ", "))
	}
	if hop.Section != "" {
		node.Name = hop.Section + ": " + node.Name
	}
	return node
}

// addNotAccepted visits n and all nodes below n. If a match delegates to child routes, but does not accept one of
// them, addNotAccepted adds a node for this child route below the node of the match. The child route may also have a
// NotAcceptedNode directly below the node of the delegating route. addNotAccepted removes that node, so that the
// child route is not listed twice.
func (t *treeMaker) addNotAccepted(n *TreeNode) {
	for _, child := range n.Below {
		t.addNotAccepted(child)
	}
	switch {
	case n.delegation != nil:
		n.Below = append(n.Below, shownNotAccepted(t.notAcceptedUnder(n))...)
	case n.Kind == RouteNode:
		below := map[manifest.Key]bool{}
		for _, point := range n.Below {
			for _, child := range point.Below {
				below[child.field.Object] = below[child.field.Object] || child.Kind == NotAcceptedNode
			}
		}
		n.Below = slices.DeleteFunc(n.Below, func(child *TreeNode) bool { return child.Kind == NotAcceptedNode && below[child.field.Object] })
	}
}

// notAcceptedUnder returns nodes for routes that get no requests from n, the node of a delegating match:
//   - routes that are not accepted as children of the match (ir.Delegation.NotAccepted)
//   - routes that the rule of the match names, but that have an error or do not exist
//
// notAcceptedUnder skips routes that already have a node directly below n. If another route below n is served, it
// also skips minor rejections (ir.NotAccepted.Minor).
func (t *treeMaker) notAcceptedUnder(n *TreeNode) (out []*TreeNode) {
	stands, live := map[manifest.Key]bool{}, false
	for _, child := range n.Below {
		stands[child.field.Object] = true
		live = live || child.Kind == RouteNode
	}
	add := func(child *TreeNode) {
		if key := child.field.Object; !stands[key] {
			stands[key] = true
			out = append(out, child)
		}
	}
	for _, one := range n.delegation.NotAccepted {
		if !live || !one.Minor {
			add(notAcceptedNode(one.Route, one.Why))
		}
	}
	for _, route := range n.delegation.Names {
		if mistake, broken := t.mistakes[route]; broken {
			add(mistakeNode(&mistake))
		} else if !t.known[route] {
			add(notAcceptedNode(route, "does not exist"))
		}
	}
	return out
}

// broken returns a node with the routes that have an error and are nowhere in the tree of nodes. It returns nil
// if there are no such routes.
func (t *treeMaker) broken(nodes []*TreeNode) *TreeNode {
	shown := map[manifest.Key]bool{}
	var walk func([]*TreeNode)
	walk = func(nodes []*TreeNode) {
		for _, n := range nodes {
			shown[n.field.Object] = true
			walk(n.Below)
		}
	}
	walk(nodes)
	out := &TreeNode{Kind: BrokenNode, Name: "Routes that serve nowhere"}
	for _, key := range slices.SortedFunc(maps.Keys(t.mistakes), manifest.CompareKeys) {
		if route.IsRoute(key) && !shown[key] {
			mistake := t.mistakes[key]
			out.Below = append(out.Below, mistakeNode(&mistake))
		}
	}
	if len(out.Below) == 0 {
		return nil
	}
	return out
}

// shownNotAccepted shortens a list of nodes for routes that are not accepted: it returns the first
// maxNotAcceptedShown, and a node with the number of the others. It returns a copy, because several hosts may
// have the same route.
func shownNotAccepted(all []*TreeNode) []*TreeNode {
	out := slices.Clone(all[:min(len(all), maxNotAcceptedShown)])
	if more := len(all) - len(out); more > 0 {
		out = append(out, &TreeNode{Kind: NotAcceptedNode, Name: fmt.Sprintf("and %d more, which gatefold validate lists", more)})
	}
	return out
}

// matchField returns the field of a match of a route.
func matchField(key manifest.Key, rule, match int) manifest.Field {
	return manifest.Field{Object: key, Path: fmt.Sprintf("spec.rules[%d].matches[%d]", rule, match)}
}

// leadsTo returns, as text, what a rule does with requests: its backends (with their weights, if there are
// several), a redirect, or a status. A backend reference that is not resolved has the text "500", or "UNAVAILABLE"
// in a rule of a GRPCRoute (see ir.Path.UnresolvedWords). A rule that answers an error to all its requests (see
// fails) has the same text.
func leadsTo(rule *ir.Rule) string {
	a, unresolved := &rule.Action, rule.Match.Path.UnresolvedWords()
	switch {
	case a.Redirect != nil:
		return "redirect " + fmt.Sprint(a.Redirect.Status)
	case fails(rule) && a.Forward == nil:
		return unresolved
	case a.Forward == nil:
		return fmt.Sprint(a.Respond.Status)
	}
	var names []string
	for _, b := range a.Forward.Backends {
		name := cmp.Or(b.Cluster, unresolved)
		if len(a.Forward.Backends) > 1 {
			name += fmt.Sprintf(" (%d)", b.Weight)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// notAcceptedChildren returns, by parent route, nodes for the child routes that the parent does not accept. The
// reasons are those in the children's statuses.
func notAcceptedChildren(statuses []status.Update) map[manifest.Key][]*TreeNode {
	out := map[manifest.Key][]*TreeNode{}
	for _, update := range statuses {
		route, ok := update.Status.(*gwv1.RouteStatus)
		if !ok {
			continue
		}
		for _, parent := range route.Parents {
			key, isRoute := parentRoute(update.Key, parent.ParentRef)
			why := notUsed(parent)
			if !isRoute || why == "" {
				continue
			}
			out[key] = append(out[key], notAcceptedNode(update.Key, why))
		}
	}
	return out
}

// notUsed returns why a parent rejects a child, entirely or in part. It returns "" if the parent accepts all of
// the child.
func notUsed(parent gwv1.RouteParentStatus) string {
	for _, c := range parent.Conditions {
		notAccepted := c.Type == string(gwv1.RouteConditionAccepted) && c.Status != "True"
		if notAccepted || c.Type == string(gwv1.RouteConditionPartiallyInvalid) && c.Status == "True" {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}
