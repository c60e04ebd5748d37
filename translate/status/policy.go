package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/policy"
)

// policyReasonValid is kgateway's reason for Accepted, in place of the Gateway
// API's.
const policyReasonValid gwv1.PolicyConditionReason = "Valid"

// PolicyAncestor returns the entry of a policy's status for one ancestor.
func PolicyAncestor(ref gwv1.ParentReference, conditions ...metav1.Condition) gwv1.PolicyAncestorStatus {
	return gwv1.PolicyAncestorStatus{AncestorRef: ref, ControllerName: ControllerName, Conditions: conditions}
}

// PolicyAccepted returns a policy's condition Accepted for one ancestor.
func PolicyAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, policyReasonValid, bad)
}

// ExtensionAccepted returns a GatewayExtension's condition Accepted, with kgateway's reasons:
// it is True if policies can use it.
func ExtensionAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, gwv1.PolicyReasonAccepted, bad)
}

// PolicyAttached returns a policy's condition Attached (kgateway's) for one Gateway: it is True
// unless other policies have set every field.
func PolicyAttached(generation int64, fate policy.Fate) metav1.Condition {
	c := metav1.Condition{Type: "Attached", Status: metav1.ConditionTrue, ObservedGeneration: generation}
	switch fate {
	case policy.WhollyUsed:
		c.Reason = "Attached"
	case policy.Merged:
		c.Reason, c.Message = "Merged", "some fields come from other policies, or are joined with theirs"
	case policy.Overridden:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Overridden", "other policies set every field"
	}
	return c
}
