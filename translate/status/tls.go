package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
)

// TLSPolicyAccepted returns a BackendTLSPolicy's condition Accepted for one ancestor.
func TLSPolicyAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, gwv1.PolicyReasonAccepted, bad)
}

// TLSPolicyResolvedRefs returns a BackendTLSPolicy's condition ResolvedRefs: it is True if all
// of its CA certificates can be used.
func TLSPolicyResolvedRefs(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.BackendTLSPolicyConditionResolvedRefs, generation, gwv1.BackendTLSPolicyReasonResolvedRefs, bad)
}

// GatewayTLS returns the conditions that depend only on a Gateway's spec.tls:
// InsecureFrontendValidationMode, while it accepts clients without a valid certificate, and
// ResolvedRefs, while it has a certificate to show to backends. The ResolvedRefs of its
// listeners is included in the message.
func GatewayTLS(g *listen.Gateway) []metav1.Condition {
	var out []metav1.Condition
	if g.Insecure {
		out = append(out, metav1.Condition{
			Type: string(gwv1.GatewayConditionInsecureFrontendValidationMode), Status: metav1.ConditionTrue,
			Reason: string(gwv1.GatewayReasonConfigurationChanged), ObservedGeneration: g.Generation,
			Message: "clients without a valid certificate are let in (AllowInsecureFallback)",
		})
	}
	if g.Client == nil {
		return out
	}
	bad := g.Client.Usable
	for _, l := range g.Listeners {
		if !l.Resolved.Good() {
			bad = bad.And(manifest.Verdict[gwv1.GatewayConditionReason]{Reason: gwv1.GatewayReasonListenersNotResolved, Message: "listener " + l.ID() + ": " + l.Resolved.Message})
		}
	}
	return append(out, condition(gwv1.GatewayConditionResolvedRefs, g.Generation, gwv1.GatewayReasonResolvedRefs, bad))
}
