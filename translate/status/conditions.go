package status

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
)

// ControllerName is gatefold's controller name in GatewayClasses, and in the statuses of routes and policies.
const ControllerName gwv1.GatewayController = "gatefold.io/gateway-controller"

// condition returns a condition of the given type (kind). If the verdict bad is zero, the condition is True
// with the reason good. Otherwise the condition is False, with the reason and message of bad.
func condition[T, R ~string](kind T, generation int64, good R, bad manifest.Verdict[R]) metav1.Condition {
	c := metav1.Condition{
		Type: string(kind), Status: metav1.ConditionTrue, Reason: string(good), ObservedGeneration: generation,
	}
	if !bad.Good() {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(bad.Reason), bad.Message
	}
	return c
}

// ClassAccepted returns the condition Accepted of a GatewayClass.
func ClassAccepted(generation int64, bad manifest.Verdict[gwv1.GatewayClassConditionReason]) metav1.Condition {
	return condition(gwv1.GatewayClassConditionStatusAccepted, generation, gwv1.GatewayClassReasonAccepted, bad)
}

// GatewayAccepted returns the condition Accepted of a Gateway. The condition is False if the Gateway cannot be
// served (Unusable), or if the Gateway has listeners and no listener of the Gateway or its ListenerSets can be
// served. If only some listeners are not served, the condition is True, and the message names these listeners.
// An address that is not assigned makes only Programmed False.
func GatewayAccepted(g *listen.Gateway) metav1.Condition {
	bad := g.Unusable
	if bad.Reason == gwv1.GatewayReasonAddressNotAssigned { // a reason of Programmed only
		bad = manifest.Verdict[gwv1.GatewayConditionReason]{}
	}
	sound, unsound := listenerNames(g.ListenersOf(g.Origin.Key))
	if bad.Good() && len(unsound) > 0 && len(sound) == 0 && len(g.Ports()) == 0 {
		bad = manifest.Verdict[gwv1.GatewayConditionReason]{
			Reason: gwv1.GatewayReasonListenersNotValid, Message: "none of the listeners can be served"}
	}
	c := condition(gwv1.GatewayConditionAccepted, g.Generation, gwv1.GatewayReasonAccepted, bad)
	if bad.Good() && len(unsound) > 0 {
		c.Reason = string(gwv1.GatewayReasonListenersNotValid)
		c.Message = fmt.Sprintf("not served: %s; served: %s", strings.Join(unsound, ", "), cmp.Or(strings.Join(sound, ", "), "those of ListenerSets"))
	}
	return c
}

// listenerNames returns the names of the given listeners in two lists: sound has those of the listeners that
// are served, and unsound has the others.
func listenerNames(own []*listen.Listener) (sound, unsound []string) {
	for _, l := range own {
		if l.Serves() {
			sound = append(sound, l.Name)
		} else {
			unsound = append(unsound, l.Name)
		}
	}
	return sound, unsound
}

// GatewayProgrammed returns the condition Programmed of a Gateway. If at least one listener of the Gateway or
// of its ListenerSets can be served, the condition is Unknown until the server adds Envoy's answer. Otherwise,
// or if the Gateway itself cannot be served (Unusable), it is False.
func GatewayProgrammed(g *listen.Gateway) metav1.Condition {
	switch {
	case g.Unusable.Reason == gwv1.GatewayReasonAddressNotAssigned:
		return programmed(gwv1.GatewayConditionProgrammed, g.Generation, g.Unusable.Reason, g.Unusable.Message)
	case !g.Unusable.Good():
		return programmed(gwv1.GatewayConditionProgrammed, g.Generation, gwv1.GatewayReasonInvalid, g.Unusable.Message)
	case len(g.Ports()) > 0:
		return pending(gwv1.GatewayConditionProgrammed, g.Generation)
	}
	for _, l := range g.ListenersOf(g.Origin.Key) {
		switch {
		case l.Taken.Good():
		case l.Taken.Reason == gwv1.ListenerReasonInvalid:
			return programmed(gwv1.GatewayConditionProgrammed, g.Generation, gwv1.GatewayReasonInvalid, l.Taken.Message)
		default:
			return programmed(gwv1.GatewayConditionProgrammed, g.Generation, gwv1.GatewayReasonAddressNotUsable, l.Taken.Message)
		}
	}
	return programmed(gwv1.GatewayConditionProgrammed, g.Generation, gwv1.GatewayReasonInvalid, "none of the listeners can be served")
}

// programmed returns the condition Programmed with status False, the reason and the message. The parameter kind is
// the condition type: GatewayConditionProgrammed or ListenerConditionProgrammed.
func programmed[T, R ~string](kind T, generation int64, reason R, message string) metav1.Condition {
	return condition(kind, generation, reason, manifest.Verdict[R]{Reason: reason, Message: message})
}

// pending returns a condition of the given type (kind) that is Unknown. The server replaces it when an Envoy
// answers.
func pending[T ~string](kind T, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: string(kind), Status: metav1.ConditionUnknown, Reason: string(gwv1.GatewayReasonPending),
		Message: "no Envoy has answered yet", ObservedGeneration: generation,
	}
}

// ListenerConditions returns the conditions of one listener. Accepted is True if the listener can be configured
// in Envoy (Gateway API, ListenerConditionAccepted). Accepted is False, for example, if the listener conflicts with
// another one, or if another Gateway has the port.
func ListenerConditions(l *listen.Listener, generation int64) []metav1.Condition {
	conflicted := condition(gwv1.ListenerConditionConflicted, generation, gwv1.ListenerReasonNoConflicts, l.Conflicted)
	conflicted.Status = metav1.ConditionFalse
	if !l.Conflicted.Good() {
		conflicted.Status = metav1.ConditionTrue
	}
	return []metav1.Condition{
		listenerAccepted(l, generation),
		conflicted,
		listenerProgrammed(l, generation),
		condition(gwv1.ListenerConditionResolvedRefs, generation, gwv1.ListenerReasonResolvedRefs, l.Resolved),
	}
}

// ListenerConditionClosed is a condition type of gatefold. The condition exists, and is True, while every route
// of the listener answers 500 because of a policy. On a listener for TCP, TLS or UDP, it exists while every
// connection or datagram is refused.
const ListenerConditionClosed gwv1.ListenerConditionType = "gatefold.io/ClosedByPolicy"

// ListenerClosed returns the condition ListenerConditionClosed of a listener. Its message ends with the reason
// (why): the policy, and what is wrong with it.
func ListenerClosed(l *listen.Listener, generation int64, why string) metav1.Condition {
	effect := "every route of the listener answers 500: "
	switch {
	case l.Protocol == gwv1.UDPProtocolType:
		effect = "every datagram to the listener is dropped: "
	case !l.SpeaksHTTP():
		effect = "every connection to the listener is closed: "
	}
	return metav1.Condition{
		Type: string(ListenerConditionClosed), Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: string(gwv1.PolicyReasonInvalid), Message: effect + why,
	}
}

// ListenerOverlaps returns the condition OverlappingTLSConfig of a listener whose TLS configuration overlaps with that of
// others of its port. The Gateway API has the condition only where it is True.
func ListenerOverlaps(generation int64, why manifest.Verdict[gwv1.ListenerConditionReason]) metav1.Condition {
	return metav1.Condition{
		Type: string(gwv1.ListenerConditionOverlappingTLSConfig), Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: string(why.Reason), Message: why.Message,
	}
}

// InvalidListenerConditions returns the conditions Accepted and Programmed of an invalid listener, or of a
// listener of an invalid object. The conditions about conflicts and references are missing, because neither was
// checked.
func InvalidListenerConditions(l *listen.Listener, generation int64) []metav1.Condition {
	return []metav1.Condition{listenerAccepted(l, generation), listenerProgrammed(l, generation)}
}

// listenerAccepted returns the condition Accepted of a listener.
func listenerAccepted(l *listen.Listener, generation int64) metav1.Condition {
	return condition(gwv1.ListenerConditionAccepted, generation, gwv1.ListenerReasonAccepted, listenerRejection(l))
}

// listenerRejection returns why a listener is not accepted. It returns the zero Verdict if the listener is
// accepted.
func listenerRejection(l *listen.Listener) manifest.Verdict[gwv1.ListenerConditionReason] {
	return cmp.Or(l.Accepted, l.Conflicted, l.Taken)
}

// listenerProgrammed returns the condition Programmed of a listener. It is False if the listener is not
// accepted, or if it needs a certificate and none is usable. Otherwise it is Unknown until Envoy answers. For a
// conflict it has the reason of the conflict, because the conformance tests of the Gateway API require that.
func listenerProgrammed(l *listen.Listener, generation int64) metav1.Condition {
	bad := listenerRejection(l)
	if bad.Good() && !l.Certified() {
		bad = l.Resolved
	}
	switch {
	case bad.Good():
		return pending(gwv1.ListenerConditionProgrammed, generation)
	case bad != l.Conflicted:
		bad.Reason = gwv1.ListenerReasonInvalid
	}
	return programmed(gwv1.ListenerConditionProgrammed, generation, bad.Reason, bad.Message)
}

// RouteAccepted returns the condition Accepted of a route for one parent. The condition is False if the verdict has
// a reason, and True otherwise. If the condition is True, its message may say which traffic the route does not
// receive: for example, because some rules of a parent route cannot delegate to the route.
func RouteAccepted(generation int64, verdict manifest.Verdict[gwv1.RouteConditionReason]) metav1.Condition {
	c := condition(gwv1.RouteConditionAccepted, generation, gwv1.RouteReasonAccepted, verdict)
	c.Message = verdict.Message
	return c
}

// RouteResolvedRefs returns the condition ResolvedRefs of a route for one parent. It is False if the verdict has a
// reason, and True otherwise. If it is True, its message may name routes to which this route cannot delegate.
func RouteResolvedRefs(generation int64, verdict manifest.Verdict[gwv1.RouteConditionReason]) metav1.Condition {
	c := condition(gwv1.RouteConditionResolvedRefs, generation, gwv1.RouteReasonResolvedRefs, verdict)
	c.Message = verdict.Message
	return c
}

// RoutePartiallyInvalid returns the condition PartiallyInvalid of a route. The parameter what lists the parts
// of the route that are not served as written. In the message, the words "Dropped Rule" precede that list, as
// the Gateway API requires.
func RoutePartiallyInvalid(generation int64, what string) metav1.Condition {
	return metav1.Condition{
		Type: string(gwv1.RouteConditionPartiallyInvalid), Status: metav1.ConditionTrue,
		Reason: string(gwv1.RouteReasonUnsupportedValue), Message: "Dropped Rule: " + what, ObservedGeneration: generation,
	}
}
