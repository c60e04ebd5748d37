package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/policy"
)

// Helpers for policies of all kinds: weights, targets that do not exist, and the ancestors in their status.

// policyWeight returns the weight in the annotations of a policy (api.AnnotationPolicyWeight), 0 without the
// annotation. If the value is not a 32-bit integer, it returns 0 and a warning.
func policyWeight(key manifest.Key, annotations map[string]string) (int32, []manifest.Problem) {
	weight, readable := policy.WeightOf(annotations)
	if readable {
		return weight, nil
	}
	return 0, []manifest.Problem{annotationProblem(key, api.AnnotationPolicyWeight,
		fmt.Sprintf("the policy weight %q is not a whole number of 32 bits; it counts as 0", annotations[api.AnnotationPolicyWeight]),
		"write a number from -2147483648 to 2147483647, in quotes")}
}

// annotationProblem returns a warning about an annotation whose value cannot be read.
func annotationProblem(key manifest.Key, annotation, message, hint string) manifest.Problem {
	return manifest.Problem{
		Code: "InvalidValue", Severity: manifest.Warning, Object: key,
		Field: "metadata.annotations[" + annotation + "]", Message: message, Hint: hint,
	}
}

// selectsNothing returns the warning that the selector spec.targetSelectors[i] of a policy selects no object.
func selectsNothing(key manifest.Key, i int) manifest.Problem {
	return manifest.Problem{
		Code: "NoEffect", Severity: manifest.Warning, Object: key, Field: fmt.Sprintf("spec.targetSelectors[%d].matchLabels", i),
		Message: "the selector matches no object in namespace " + key.Namespace + ": the policy does nothing by it",
		Hint:    "give the labels to the objects that the policy is for, or correct the selector",
	}
}

// lostProblem returns the error for a policy target that does not exist. The parameter field is the path below
// the targetRef, for example "name". The caller completes Field of the result, and sets Object.
func lostProblem(field, message, hint string) *manifest.Problem {
	return &manifest.Problem{Code: string(gwv1.PolicyReasonTargetNotFound), Severity: manifest.Error, Field: field, Message: message, Hint: hint}
}

// ancestor returns a reference to an object, for the list of ancestors in a policy's status.
func ancestor(group, kind, namespace, name string) gwv1.ParentReference {
	g, k, ns := gwv1.Group(group), gwv1.Kind(kind), gwv1.Namespace(namespace)
	return gwv1.ParentReference{Group: &g, Kind: &k, Namespace: &ns, Name: gwv1.ObjectName(name)}
}
