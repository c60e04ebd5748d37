package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// maxNotAcceptedShown is the most routes that one route of a tree lists as not accepted.
const maxNotAcceptedShown = 100

// Tree returns what is served: each virtual host with its routes, each delegating rule with the
// routes below it, and the routes that were not accepted there. statuses are those of all
// objects.
func Tree(view *ir.View, statuses []status.Update, places func([]manifest.Field) []store.Place) []*TreeNode {
	notAccepted := notAcceptedChildren(statuses)
	var out []*TreeNode
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			node := &TreeNode{Kind: PortNode, Name: fmt.Sprintf("Gateway %s, port %d", gateway.Name, port.Port.Port), field: manifest.Field{Object: ir.GatewayKey(gateway.Name)}}
			for _, host := range port.Hosts {
				node.Below = append(node.Below, hostTree(port.Port, host, notAccepted))
			}
			for i := range port.Port.Streams {
				node.Below = append(node.Below, streamTree(port.Port, &port.Port.Streams[i]))
			}
			out = append(out, node)
		}
	}
	locateTree(out, places)
	return out
}

// hostTree names the ListenerSet that a host comes from; what comes from no set is the
// Gateway's.
func hostTree(port *ir.Port, host ir.HostView, notAccepted map[manifest.Key][]*TreeNode) *TreeNode {
	node := &TreeNode{Kind: HostNode, Name: host.Domain}
	if own, ok := listenerOf(port.Listeners, hostname(host.Domain)); ok && own.Object.Kind == "ListenerSet" {
		node.Name += fmt.Sprintf(" (listener %s of %s)", own.Name, own.Object)
		node.field = manifest.Field{Object: own.Object, Path: listenerField(own)}
	}
	for rule := range host.Rules {
		node.insert(rule, notAccepted)
	}
	node.sort()
	return node
}

// insert puts a rule below its chain.
func (n *TreeNode) insert(rule *ir.Rule, notAccepted map[manifest.Key][]*TreeNode) {
	at := n
	for _, hop := range rule.Chain {
		at = at.route(hop.Route, notAccepted).child(PointNode, matchField(hop.Route, hop.Rule, hop.Match), hop.Rule, hop.Match)
		if hop.Section != "" {
			at.Name = at.field.Path + " (" + hop.Section + ")"
		}
	}
	source := at.route(rule.Source.Key, notAccepted)
	i, j := rule.Position[len(rule.Position)-2], rule.Position[len(rule.Position)-1]
	if rule.SignIn != (manifest.Key{}) {
		field := manifest.Field{Object: rule.Source.Key, Path: signInPlace(rule).Field}
		name := matchWords(rule.Match) + " → oauth2 of " + rule.SignIn.String()
		source.Below = append(source.Below, &TreeNode{Kind: RuleNode, Name: name, field: field, order: []int{i, j, 1}})
		return
	}
	leaf := source.child(RuleNode, matchField(rule.Source.Key, i, j), i, j, 1)
	leaf.Name = matchWords(rule.Match) + " → " + leadsTo(&rule.Action)
	if rule.Guard {
		leaf.Name += ", for what no route below takes"
	}
}

// route returns the node of a route below n, with the routes that it does not accept.
func (n *TreeNode) route(key manifest.Key, notAccepted map[manifest.Key][]*TreeNode) *TreeNode {
	before := len(n.Below)
	node := n.child(RouteNode, manifest.Field{Object: key})
	if len(n.Below) > before {
		node.Name = key.String()
		node.Below = shownNotAccepted(notAccepted[key])
	}
	return node
}

// shownNotAccepted returns the first of the routes that are not accepted, and how many there are beside them.
// Each place gets its own list: a route may stand under many hosts.
func shownNotAccepted(all []*TreeNode) []*TreeNode {
	out := slices.Clone(all[:min(len(all), maxNotAcceptedShown)])
	if more := len(all) - len(out); more > 0 {
		out = append(out, &TreeNode{Kind: NotAcceptedNode, Name: fmt.Sprintf("and %d more routes, which gatefold validate lists", more)})
	}
	return out
}

func matchField(key manifest.Key, rule, match int) manifest.Field {
	return manifest.Field{Object: key, Path: fmt.Sprintf("spec.rules[%d].matches[%d]", rule, match)}
}

// leadsTo names what an action leads to.
func leadsTo(a *ir.Action) string {
	switch {
	case a.Redirect != nil:
		return "redirect " + fmt.Sprint(a.Redirect.Status)
	case a.Forward == nil:
		return fmt.Sprint(a.Respond.Status)
	}
	var names []string
	for _, b := range a.Forward.Backends {
		name := cmp.Or(b.Cluster, "500")
		if len(a.Forward.Backends) > 1 {
			name += fmt.Sprintf(" (%d)", b.Weight)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// notAcceptedChildren returns by parent the routes that it does not use, and why, as
// their statuses say.
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
			out[key] = append(out[key], &TreeNode{Kind: NotAcceptedNode, Name: update.Key.String() + ": " + why, field: manifest.Field{Object: update.Key}})
		}
	}
	return out
}

// notUsed says why a parent route does not use a child, or not whole, "" when it
// does.
func notUsed(parent gwv1.RouteParentStatus) string {
	for _, c := range parent.Conditions {
		notAccepted := c.Type == string(gwv1.RouteConditionAccepted) && c.Status != "True"
		if notAccepted || c.Type == string(gwv1.RouteConditionPartiallyInvalid) && c.Status == "True" {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}
