package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
)

// reasonParentNotProgrammed is a reason of the condition Programmed of a ListenerSet. The Gateway API describes
// the reason without a constant.
const reasonParentNotProgrammed gwv1.ListenerSetConditionReason = "ParentNotProgrammed"

// SetAccepted returns the condition Accepted of a ListenerSet. The condition is True if the Gateway can be served
// and accepts the ListenerSet, and at least one listener of the ListenerSet can be served. If only some listeners
// can be served, the message names the others. The parameter in has the ListenerSet's listeners at that Gateway. It
// is nil if the Gateway does not exist, or if the ListenerSet is invalid.
func SetAccepted(set *listen.Set, in *listen.Part) metav1.Condition {
	bad, served := setRejection(set, in)
	c := condition(gwv1.ListenerSetConditionAccepted, set.Generation, gwv1.ListenerSetReasonAccepted, bad)
	if served != "" {
		c.Reason, c.Message = string(gwv1.ListenerSetReasonListenersNotValid), served
	}
	return c
}

// SetProgrammed returns the condition Programmed of a ListenerSet. The condition is False if nothing of the
// ListenerSet is served. Otherwise it is Unknown until the server adds Envoy's answer. The parameters are those
// of SetAccepted.
func SetProgrammed(set *listen.Set, in *listen.Part) metav1.Condition {
	bad, _ := setRejection(set, in)
	switch {
	case bad.Good():
		return pending(gwv1.ListenerSetConditionProgrammed, set.Generation)
	case bad.Reason == gwv1.ListenerSetReasonParentNotAccepted:
		bad.Reason = reasonParentNotProgrammed
	}
	return programmed(gwv1.ListenerSetConditionProgrammed, set.Generation, bad.Reason, bad.Message)
}

// setRejection returns why nothing of a ListenerSet is served (the result bad). If at least one listener is
// served, bad is zero. If only some listeners are served, the result partly is a message that names the listeners
// that are not served, and those that are. Otherwise partly is "". The parameter in has the set's listeners at the
// Gateway, nil without a Gateway.
func setRejection(set *listen.Set, in *listen.Part) (bad manifest.Verdict[gwv1.ListenerSetConditionReason], partly string) {
	switch {
	case !set.Accepted.Good():
		return set.Accepted, ""
	case in == nil || !in.Unusable.Good():
		message := "Gateway " + set.Gateway + " is not accepted"
		if in != nil {
			message += ": " + in.Unusable.Message
		}
		return manifest.Verdict[gwv1.ListenerSetConditionReason]{Reason: gwv1.ListenerSetReasonParentNotAccepted, Message: message}, ""
	}
	sound, unsound := listenerNames(in.Listeners)
	switch {
	case len(unsound) == 0:
		return bad, ""
	case len(sound) == 0:
		return manifest.Verdict[gwv1.ListenerSetConditionReason]{
			Reason: gwv1.ListenerSetReasonListenersNotValid, Message: "none of the listeners can be served"}, ""
	}
	return bad, fmt.Sprintf("not served: %s; served: %s", strings.Join(unsound, ", "), strings.Join(sound, ", "))
}
