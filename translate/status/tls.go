package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/listen"
)

// TLSPolicyAccepted is a BackendTLSPolicy's Accepted for one ancestor.
func TLSPolicyAccepted(generation int64, bad listen.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, gwv1.PolicyReasonAccepted, bad)
}

// TLSPolicyResolvedRefs is a BackendTLSPolicy's ResolvedRefs: it holds when all of its
// authorities can be used.
func TLSPolicyResolvedRefs(generation int64, bad listen.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.BackendTLSPolicyConditionResolvedRefs, generation, gwv1.BackendTLSPolicyReasonResolvedRefs, bad)
}
