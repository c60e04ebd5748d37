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

// ControllerName is gatefold's controller name in GatewayClasses and route statuses.
const ControllerName gwv1.GatewayController = "gatefold.io/gateway-controller"

// condition builds one condition: bad is a reason against it, else it holds for
// the reason good.
func condition[T, R ~string](kind T, generation int64, good R, bad manifest.Verdict[R]) metav1.Condition {
	c := metav1.Condition{
		Type: string(kind), Status: metav1.ConditionTrue, Reason: string(good), ObservedGeneration: generation,
	}
	if !bad.Good() {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(bad.Reason), bad.Message
	}
	return c
}

// ClassAccepted returns a GatewayClass's condition Accepted.
func ClassAccepted(generation int64, bad manifest.Verdict[gwv1.GatewayClassConditionReason]) metav1.Condition {
	return condition(gwv1.GatewayClassConditionStatusAccepted, generation, gwv1.GatewayClassReasonAccepted, bad)
}

// GatewayAccepted returns a Gateway's condition Accepted: it is True if at least one listener
// can be served, its own or a ListenerSet's.
func GatewayAccepted(g *listen.Gateway) metav1.Condition {
	bad := g.Unusable
	if bad.Reason == gwv1.GatewayReasonAddressNotAssigned { // which is a reason of Programmed alone
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

// listenerNames returns the listeners that serve, and those that cannot.
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

// GatewayProgrammed returns a Gateway's condition Programmed as far as translation knows it;
// the server adds Envoy's answer.
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
		if !l.Taken.Good() {
			return programmed(gwv1.GatewayConditionProgrammed, g.Generation, gwv1.GatewayReasonAddressNotUsable, l.Taken.Message)
		}
	}
	return programmed(gwv1.GatewayConditionProgrammed, g.Generation, gwv1.GatewayReasonInvalid, "none of the listeners can be served")
}

func programmed[T, R ~string](kind T, generation int64, reason R, message string) metav1.Condition {
	return condition(kind, generation, reason, manifest.Verdict[R]{Reason: reason, Message: message})
}

// pending says that only Envoy's answer is missing.
func pending[T ~string](kind T, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: string(kind), Status: metav1.ConditionUnknown, Reason: string(gwv1.GatewayReasonPending),
		Message: "no Envoy has answered yet", ObservedGeneration: generation,
	}
}

// ListenerConditions returns the conditions of one listener. It is accepted if it is configured
// in Envoy: a conflict prevents that, and so does a port that another Gateway has (Gateway API,
// ListenerConditionAccepted).
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

// ListenerConditionClosed is a condition of gatefold's own. It exists, and is True, while every
// route of the listener answers 500 because of a policy.
const ListenerConditionClosed gwv1.ListenerConditionType = "gatefold.io/ClosedByPolicy"

// ListenerClosed returns that condition. why names the policy and what is wrong with it.
func ListenerClosed(generation int64, why string) metav1.Condition {
	return metav1.Condition{
		Type: string(ListenerConditionClosed), Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: string(gwv1.PolicyReasonInvalid), Message: "every route of the listener answers 500: " + why,
	}
}

// InvalidListenerConditions returns the conditions of an invalid listener, or of a listener in
// an invalid Gateway. Its conflicts and references were not checked.
func InvalidListenerConditions(l *listen.Listener, generation int64) []metav1.Condition {
	return []metav1.Condition{listenerAccepted(l, generation), listenerProgrammed(l, generation)}
}

func listenerAccepted(l *listen.Listener, generation int64) metav1.Condition {
	return condition(gwv1.ListenerConditionAccepted, generation, gwv1.ListenerReasonAccepted, listenerRejection(l))
}

// listenerRejection says why a listener does not serve; it is good when it does.
func listenerRejection(l *listen.Listener) manifest.Verdict[gwv1.ListenerConditionReason] {
	return cmp.Or(l.Accepted, l.Conflicted, l.Taken)
}

// listenerProgrammed names a conflict as its reason, as the Gateway API's
// conformance tests want it.
// A listener without a certificate is accepted, and leads to nothing in Envoy.
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

// RouteAccepted returns a route's condition Accepted for one parent. A message without a reason
// names rules of the parent that do not lead to the route.
func RouteAccepted(generation int64, verdict manifest.Verdict[gwv1.RouteConditionReason]) metav1.Condition {
	c := condition(gwv1.RouteConditionAccepted, generation, gwv1.RouteReasonAccepted, verdict)
	c.Message = verdict.Message
	return c
}

// RouteResolvedRefs returns a route's condition ResolvedRefs for one parent. A message without
// a reason names routes to which it delegates nothing.
func RouteResolvedRefs(generation int64, verdict manifest.Verdict[gwv1.RouteConditionReason]) metav1.Condition {
	c := condition(gwv1.RouteConditionResolvedRefs, generation, gwv1.RouteReasonResolvedRefs, verdict)
	c.Message = verdict.Message
	return c
}

// RoutePartiallyInvalid returns the condition for a route with rules that are not served as
// written; what names them. The Gateway API requires that the message begins with these words.
func RoutePartiallyInvalid(generation int64, what string) metav1.Condition {
	return metav1.Condition{
		Type: string(gwv1.RouteConditionPartiallyInvalid), Status: metav1.ConditionTrue,
		Reason: string(gwv1.RouteReasonUnsupportedValue), Message: "Dropped Rule: " + what, ObservedGeneration: generation,
	}
}
