package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
)

// TLSPolicyAccepted returns the condition Accepted of a BackendTLSPolicy for one ancestor. It is True if bad is
// zero.
func TLSPolicyAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, gwv1.PolicyReasonAccepted, bad)
}

// TLSPolicyResolvedRefs returns the condition ResolvedRefs of a BackendTLSPolicy. It is True if bad is zero:
// all of the policy's CA certificates can be used.
func TLSPolicyResolvedRefs(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.BackendTLSPolicyConditionResolvedRefs, generation, gwv1.BackendTLSPolicyReasonResolvedRefs, bad)
}

// GatewayTLS returns the conditions that a Gateway has only because of spec.tls. InsecureFrontendValidationMode
// is included if the Gateway accepts clients without a valid certificate. ResolvedRefs is included if the
// Gateway refers to a certificate for backends. ResolvedRefs is False if that certificate cannot be used, or if
// a listener has an unresolved reference.
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
