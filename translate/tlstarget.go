package translate

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// tlsTarget is one target of a BackendTLSPolicy.
type tlsTarget struct {
	Target  manifest.Key
	Section string
	// Bad says why the policy does not apply to the target. It is the zero verdict (Good) if the policy applies.
	Bad policyVerdict
	// Lost is true if Bad is set because the target or its section does not exist. It is false if Bad is set because
	// another policy applies to the target.
	Lost bool
	// Problem reports the same as Bad. It is nil if the policy applies, or if too many policies are for the target,
	// which is a problem of the target.
	Problem *manifest.Problem
	// Ports are the ports of a Service that Section names. They are empty if Any is true.
	Ports []int32
	// Any is true if the target includes every port.
	Any bool
}

// at reports whether the target includes a port of the Service or Backend.
func (t *tlsTarget) at(port int32) bool { return t.Any || slices.Contains(t.Ports, port) }

// words returns the target and its section as text.
func (t *tlsTarget) words() string {
	if t.Section == "" {
		return t.Target.String()
	}
	return t.Target.String() + ", port " + t.Section
}

// reject records that the policy (key) does not apply to the target. It sets Bad and Problem, with the given
// reason.
func (t *tlsTarget) reject(key manifest.Key, reason gwv1.PolicyConditionReason, field, message, hint string) {
	t.Bad = policyVerdict{Reason: reason, Message: message}
	t.Problem = &manifest.Problem{Code: string(reason), Severity: manifest.Error, Object: key, Field: field, Message: message, Hint: hint}
}

func tlsTargetProblems(targets []tlsTarget) (problems []manifest.Problem) {
	for _, target := range targets {
		if target.Problem != nil {
			problems = append(problems, *target.Problem)
		}
	}
	return problems
}
