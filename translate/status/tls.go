package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
)

// TLSPolicyAccepted is a BackendTLSPolicy's Accepted for one ancestor.
func TLSPolicyAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, gwv1.PolicyReasonAccepted, bad)
}

// TLSPolicyResolvedRefs is a BackendTLSPolicy's ResolvedRefs: it holds when all of its
// authorities can be used.
func TLSPolicyResolvedRefs(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.BackendTLSPolicyConditionResolvedRefs, generation, gwv1.BackendTLSPolicyReasonResolvedRefs, bad)
}

// GatewayTLS are the conditions that a Gateway has by its spec.tls alone: of
// InsecureFrontendValidationMode, while it lets clients in who do not prove who they are,
// and of ResolvedRefs, while it has a certificate for backends to name. Its listeners
// have a ResolvedRefs of their own, which is told along.
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
	bad := g.Client.Refused
	for _, l := range g.Listeners {
		if !l.Resolved.Good() {
			bad = bad.And(manifest.Verdict[gwv1.GatewayConditionReason]{Reason: gwv1.GatewayReasonListenersNotResolved, Message: "listener " + l.ID() + ": " + l.Resolved.Message})
		}
	}
	return append(out, condition(gwv1.GatewayConditionResolvedRefs, g.Generation, gwv1.GatewayReasonResolvedRefs, bad))
}
