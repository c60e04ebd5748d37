package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/policy"
)

// policyReasonValid is the reason for a True condition Accepted. It is kgateway's, not the Gateway API's.
const policyReasonValid gwv1.PolicyConditionReason = "Valid"

// PolicyAncestor returns the entry of a policy's status for one ancestor.
func PolicyAncestor(ref gwv1.ParentReference, conditions ...metav1.Condition) gwv1.PolicyAncestorStatus {
	return gwv1.PolicyAncestorStatus{AncestorRef: ref, ControllerName: ControllerName, Conditions: conditions}
}

// PolicyAccepted returns the condition Accepted of a policy for one ancestor. It is True if bad is zero.
func PolicyAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, policyReasonValid, bad)
}

// ExtensionAccepted returns the condition Accepted of a GatewayExtension. It is True if bad is zero: policies
// can then use the extension.
func ExtensionAccepted(generation int64, bad manifest.Verdict[gwv1.PolicyConditionReason]) metav1.Condition {
	return condition(gwv1.PolicyConditionAccepted, generation, gwv1.PolicyReasonAccepted, bad)
}

// PolicyAttached returns kgateway's condition Attached of a policy for one ancestor. It is False only if other
// policies set every field.
func PolicyAttached(generation int64, effect policy.Effect) metav1.Condition {
	c := metav1.Condition{Type: "Attached", Status: metav1.ConditionTrue, ObservedGeneration: generation}
	switch effect {
	case policy.WhollyUsed:
		c.Reason = "Attached"
	case policy.Merged:
		c.Reason, c.Message = "Merged", "some fields come from other policies, or are joined with theirs"
	case policy.Overridden:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Overridden", "other policies set every field"
	}
	return c
}
