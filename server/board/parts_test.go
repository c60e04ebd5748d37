package board

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestConditionsThatAreWrong tells conditions that report something wrong from the others.
func TestConditionsThatAreWrong(t *testing.T) {
	for _, test := range []struct {
		kind   string
		status metav1.ConditionStatus
		want   bool
	}{
		{"Accepted", metav1.ConditionTrue, false},
		{"Accepted", metav1.ConditionFalse, true},
		{"Programmed", metav1.ConditionUnknown, true},
		{"Conflicted", metav1.ConditionFalse, false},
		{"Conflicted", metav1.ConditionTrue, true},
		{"PartiallyInvalid", metav1.ConditionTrue, true},
		{"OverlappingTLSConfig", metav1.ConditionTrue, false},
	} {
		part := Part{Conditions: []metav1.Condition{{Type: test.kind, Status: test.status}}}
		if got := len(part.Wrong()) > 0; got != test.want {
			t.Errorf("%s=%s: got %v", test.kind, test.status, got)
		}
	}
}
