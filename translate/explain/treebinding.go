package explain

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// binding is what a route attaches to with a parentRef: a Gateway or ListenerSet, and one of its listeners.
// section is the listener's name, "" if the parentRef names no listener.
type binding struct {
	parent  manifest.Key
	section string
}

// codedKey is an object and the code of one of its errors: the key of treeMaker.coded.
type codedKey struct {
	object manifest.Key
	code   string
}

// readBindings adds to t.bindings nodes for objects that are not accepted, according to their statuses:
// Gateways, ListenerSets, their listeners, and routes that name a Gateway or ListenerSet as parent.
func (t *treeMaker) readBindings(facts *Facts) {
	for _, update := range facts.Statuses {
		switch s := update.Status.(type) {
		case *gwv1.GatewayStatus:
			t.refusedObject(update.Key, update.Key, s.Conditions)
		case *gwv1.ListenerSetStatus:
			above := update.Key
			if update.Gateway != "" {
				above = ir.GatewayKey(update.Gateway)
			}
			t.refusedObject(above, update.Key, s.Conditions)
		case *gwv1.RouteStatus:
			for _, parent := range s.Parents {
				t.refusedRoute(update.Key, parent)
			}
		}
		for i, l := range listenersOf(update.Status) {
			t.refusedListener(update.Key, i, l.name, l.conditions)
		}
	}
}

// refuse stores a node for an object that is not accepted. The parameter at is the Gateway, ListenerSet or listener
// under which the tree shows the node.
func (t *treeMaker) refuse(at binding, node *TreeNode) {
	t.bindings[at] = append(t.bindings[at], node)
}

// refusedObject stores a node for a Gateway or ListenerSet (the parameter key) if its condition Accepted is false.
// It stores no node if the reason is ListenersNotValid, because the listeners have nodes of their own. The tree
// shows the node below an UnservedNode (see unserved). The parameter above is the object of that UnservedNode. It
// is the Gateway of a ListenerSet if that Gateway is known, and otherwise equal to key.
func (t *treeMaker) refusedObject(above, key manifest.Key, conditions []metav1.Condition) {
	for _, c := range conditions {
		if c.Type == string(gwv1.GatewayConditionAccepted) && c.Status == metav1.ConditionFalse && c.Reason != string(gwv1.GatewayReasonListenersNotValid) {
			t.refuse(binding{parent: above}, notAcceptedNode(key, c.Reason+": "+c.Message))
		}
	}
}

// refusedListener stores a node if a listener is not accepted, or if its references are not resolved. If neither is
// the case and the listener is not programmed, refusedListener stores the reason in t.unprogrammed. The listener is
// defined in a Gateway or ListenerSet (the parameter parent). The parameter index is its position there, from 0.
func (t *treeMaker) refusedListener(parent manifest.Key, index int, name string, conditions []metav1.Condition) {
	for _, c := range conditions {
		if resolved := c.Type == string(gwv1.ListenerConditionResolvedRefs); (resolved || c.Type == string(gwv1.ListenerConditionAccepted)) && c.Status == metav1.ConditionFalse {
			why := c.Reason + ": " + c.Message
			t.refuse(binding{parent, name}, &TreeNode{
				Kind: NotAcceptedNode, Name: "listener " + name + ": " + why, Why: why,
				field: manifest.Field{Object: parent, Path: listenerField(ir.Listener{Index: index})},
			})
			return
		}
	}
	if why := notProgrammed(conditions); why != "" {
		t.unprogrammed[binding{parent, name}] = why
	}
}

// notProgrammed returns the reason and message of the condition Programmed, if that is false, and otherwise "".
func notProgrammed(conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Type == string(gwv1.ListenerConditionProgrammed) && c.Status == metav1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// notProgrammed returns why a listener is not programmed: the reason and message of its condition Programmed, if that is
// false, and otherwise "".
func (b *reporter) notProgrammed(l ir.Listener) string {
	for _, update := range b.facts.Statuses {
		if update.Key != l.Object {
			continue
		}
		for _, own := range listenersOf(update.Status) {
			if own.name == l.Name {
				return notProgrammed(own.conditions)
			}
		}
	}
	return ""
}

// listenerStatus is the name of a listener with its conditions.
type listenerStatus struct {
	name       string
	conditions []metav1.Condition
}

// listenersOf returns the listeners in the status of a Gateway or ListenerSet, in their order. It returns none for any
// other status.
func listenersOf(status any) (out []listenerStatus) {
	switch s := status.(type) {
	case *gwv1.GatewayStatus:
		for _, l := range s.Listeners {
			out = append(out, listenerStatus{string(l.Name), l.Conditions})
		}
	case *gwv1.ListenerSetStatus:
		for _, l := range s.Listeners {
			out = append(out, listenerStatus{string(l.Name), l.Conditions})
		}
	}
	return out
}

// refusedRoute adds a node if a Gateway or ListenerSet rejects a route, entirely or in part. It does nothing if
// the parent is an HTTPRoute, or does not exist.
func (t *treeMaker) refusedRoute(route manifest.Key, parent gwv1.RouteParentStatus) {
	key := manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: route.Namespace, Name: string(parent.ParentRef.Name)}
	if kind := parent.ParentRef.Kind; kind != nil {
		key.Kind = string(*kind)
	}
	if namespace := parent.ParentRef.Namespace; namespace != nil {
		key.Namespace = string(*namespace)
	}
	why := notUsed(parent)
	if why == "" || key.Kind == "HTTPRoute" || !t.known[key] {
		return
	}
	node := notAcceptedNode(route, why)
	reason, _, _ := strings.Cut(why, ":")
	if own, found := t.coded[codedKey{route, reason}]; found {
		node = mistakeNode(&own)
	} else if mistake, found := t.mistakes[route]; found && reason == string(gwv1.RouteReasonUnsupportedValue) {
		node = mistakeNode(&mistake) // the status of an invalid object has no more than this reason
	}
	at := binding{parent: key}
	if section := parent.ParentRef.SectionName; section != nil {
		at.section = string(*section)
	}
	t.refuse(at, node)
}

// ofPort returns the nodes for what is not accepted on a port: the port's listeners, and routes that refer to these
// listeners. It returns at most as many nodes as shownNotAccepted allows. It removes the nodes from t.bindings, so
// that unserved does not return them again.
func (t *treeMaker) ofPort(port *ir.Port) (out []*TreeNode) {
	for _, l := range port.Listeners {
		at := binding{l.Object, l.Name}
		out = append(out, t.bindings[at]...)
		delete(t.bindings, at)
	}
	return shownNotAccepted(out)
}

// unserved returns a node for each Gateway and ListenerSet that still has nodes in t.bindings. The field Below of
// the returned node has these nodes. Call unserved after ofPort has been called for all ports, because ofPort
// removes the nodes that it returns from t.bindings.
func (t *treeMaker) unserved() (out []*TreeNode) {
	compare := func(a, b binding) int {
		return slices.Compare([]string{a.parent.Kind, a.parent.Namespace, a.parent.Name, a.section}, []string{b.parent.Kind, b.parent.Namespace, b.parent.Name, b.section})
	}
	for _, at := range slices.SortedFunc(maps.Keys(t.bindings), compare) {
		if len(out) == 0 || out[len(out)-1].field.Object != at.parent {
			out = append(out, &TreeNode{Kind: UnservedNode, Name: at.parent.String() + ", what it does not accept", field: manifest.Field{Object: at.parent}})
		}
		last := out[len(out)-1]
		last.Below = append(last.Below, t.bindings[at]...)
	}
	for _, n := range out {
		n.Below = shownNotAccepted(n.Below)
	}
	return out
}
