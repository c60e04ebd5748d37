package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/policy"
)

// What policies of all kinds have: weights, targets that are lost, and ancestors in their status.

// policyWeight reads the weight of a policy of either kind.
func policyWeight(key manifest.Key, annotations map[string]string) (int32, []manifest.Problem) {
	weight, readable := policy.WeightOf(annotations)
	if readable {
		return weight, nil
	}
	return 0, []manifest.Problem{annotationProblem(key, api.AnnotationPolicyWeight,
		fmt.Sprintf("the policy weight %q is not a whole number of 32 bits; it counts as 0", annotations[api.AnnotationPolicyWeight]),
		"write a number from -2147483648 to 2147483647, in quotes")}
}

// annotationProblem warns of an annotation that cannot be read.
func annotationProblem(key manifest.Key, annotation, message, hint string) manifest.Problem {
	return manifest.Problem{
		Code: "InvalidValue", Severity: manifest.Warning, Object: key,
		Field: "metadata.annotations[" + annotation + "]", Message: message, Hint: hint,
	}
}

// selectsNothing warns of a selector of a policy.
func selectsNothing(key manifest.Key, i int) manifest.Problem {
	return manifest.Problem{
		Code: "NoEffect", Severity: manifest.Warning, Object: key, Field: fmt.Sprintf("spec.targetSelectors[%d].matchLabels", i),
		Message: "the selector matches no object in namespace " + key.Namespace + ": the policy does nothing by it",
		Hint:    "give the labels to the objects that the policy is for, or correct the selector",
	}
}

// lostProblem returns the problem of a target that cannot be used. field is the path below the
// reference.
func lostProblem(field, message, hint string) *manifest.Problem {
	return &manifest.Problem{Code: string(gwv1.PolicyReasonTargetNotFound), Severity: manifest.Error, Field: field, Message: message, Hint: hint}
}

// ancestor names an object in the status of a policy.
func ancestor(group, kind, namespace, name string) gwv1.ParentReference {
	g, k, ns := gwv1.Group(group), gwv1.Kind(kind), gwv1.Namespace(namespace)
	return gwv1.ParentReference{Group: &g, Kind: &k, Namespace: &ns, Name: gwv1.ObjectName(name)}
}
