package board

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/status"
)

// Status has the fields of every kind's status.
type Status struct {
	Addresses  []gwv1.GatewayStatusAddress `json:"addresses,omitempty"`
	Conditions []metav1.Condition          `json:"conditions,omitempty"`
	Listeners  []gwv1.ListenerStatus       `json:"listeners,omitempty"`
	Parents    []gwv1.RouteParentStatus    `json:"parents,omitempty"`
	Ancestors  []gwv1.PolicyAncestorStatus `json:"ancestors,omitempty"`
}

// StatusOf converts a status of any kind to a Status. The result is empty if status is nil or of another type.
func StatusOf(status any) Status {
	switch s := status.(type) {
	case *gwv1.GatewayClassStatus:
		return Status{Conditions: s.Conditions}
	case *gwv1.GatewayStatus:
		return Status{Addresses: s.Addresses, Conditions: s.Conditions, Listeners: s.Listeners}
	case *gwv1.ListenerSetStatus:
		return Status{Conditions: s.Conditions, Listeners: listenersOf(s)}
	case *gwv1.RouteStatus:
		return Status{Parents: s.Parents}
	case *gwv1.PolicyStatus:
		return Status{Ancestors: s.Ancestors}
	case *api.GatewayExtensionStatus:
		return Status{Conditions: s.Conditions}
	}
	return Status{}
}

// listenersOf converts the status of a ListenerSet's listeners to the type that a Gateway's status has for
// listeners.
func listenersOf(set *gwv1.ListenerSetStatus) []gwv1.ListenerStatus {
	out := make([]gwv1.ListenerStatus, len(set.Listeners))
	for i, l := range set.Listeners {
		out[i] = gwv1.ListenerStatus{Name: l.Name, AttachedRoutes: l.AttachedRoutes, Conditions: l.Conditions}
	}
	return out
}

// Part is one of the lists of conditions in a status: that of the object itself, or of one of its listeners,
// parents or ancestors.
type Part struct {
	// Name is the name of the part for people. For a Gateway itself, Name is "on " and the Gateway's addresses. For
	// any other object itself, and for a Gateway without addresses, Name is "".
	Name       string
	Conditions []metav1.Condition
}

// Wrong returns the conditions of the part that report something wrong (see wrongOnes). It returns nil if there
// are none.
func (p Part) Wrong() []metav1.Condition { return wrongOnes(p.Conditions) }

// Wrong reports whether a condition of any part reports something wrong.
func (s *Status) Wrong() bool {
	return slices.ContainsFunc(s.Parts(), func(p Part) bool { return len(p.Wrong()) > 0 })
}

// Parts returns all lists of conditions in the status. If the object itself has conditions, they are the first Part.
func (s *Status) Parts() []Part {
	var parts []Part
	if len(s.Conditions) > 0 {
		parts = append(parts, Part{s.listensOn(), s.Conditions})
	}
	for _, l := range s.Listeners {
		parts = append(parts, Part{fmt.Sprintf("listener %s (routes: %d)", l.Name, l.AttachedRoutes), l.Conditions})
	}
	for _, p := range s.Parents {
		parts = append(parts, Part{"parent " + parentName(p.ParentRef), p.Conditions})
	}
	for _, a := range s.Ancestors {
		parts = append(parts, Part{"at " + parentName(a.AncestorRef), a.Conditions})
	}
	return parts
}

// listensOn returns "on " and the addresses of a Gateway, or "" if there are none. An address that was assigned
// from a pool is shown only here.
func (s *Status) listensOn() string {
	var values []string
	for _, a := range s.Addresses {
		values = append(values, a.Value)
	}
	if len(values) == 0 {
		return ""
	}
	return "on " + strings.Join(values, ", ")
}

// parentName returns "namespace/name#section" of a reference. The kind comes first if it is not Gateway. Unset
// fields are left out.
func parentName(ref gwv1.ParentReference) string {
	name := string(ref.Name)
	if ref.Namespace != nil {
		name = string(*ref.Namespace) + "/" + name
	}
	if ref.SectionName != nil {
		name += "#" + string(*ref.SectionName)
	}
	if ref.Kind != nil && *ref.Kind != "Gateway" {
		name = string(*ref.Kind) + " " + name
	}
	return name
}

// wrongOnes returns the conditions that report something wrong: those whose status is not the good one. The good
// status is True for most types. It is False for Conflicted and PartiallyInvalid (Gateway API), and for ClosedByPolicy.
// OverlappingTLSConfig reports nothing wrong: requests that come on the connection of another listener are answered 421.
func wrongOnes(conditions []metav1.Condition) []metav1.Condition {
	var wrong []metav1.Condition
	for _, c := range conditions {
		good := metav1.ConditionTrue
		switch c.Type {
		case string(gwv1.ListenerConditionConflicted), string(gwv1.RouteConditionPartiallyInvalid), string(status.ListenerConditionClosed):
			good = metav1.ConditionFalse
		case string(gwv1.ListenerConditionOverlappingTLSConfig):
			continue
		}
		if c.Status != good {
			wrong = append(wrong, c)
		}
	}
	return wrong
}
