package board

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
)

// copyStatus returns a deep copy of a status. The conditions of the copy may be changed. copyStatus panics if the
// type of the status is unknown.
func copyStatus(status any) any {
	switch s := status.(type) {
	case nil:
		return nil
	case *gwv1.GatewayClassStatus:
		return s.DeepCopy()
	case *gwv1.GatewayStatus:
		return s.DeepCopy()
	case *gwv1.ListenerSetStatus:
		return s.DeepCopy()
	case *gwv1.RouteStatus:
		return s.DeepCopy()
	case *gwv1.PolicyStatus:
		return s.DeepCopy()
	case *api.GatewayExtensionStatus:
		return s.DeepCopy()
	}
	panic(fmt.Sprintf("status of an unknown type %T", status))
}

// conditionList is one of the condition lists of a status. The name is "" for the conditions of the object itself.
// Otherwise it identifies the listener, parent or ancestor. A list keeps its name when the status changes, so that
// the same list can be found in an earlier status.
type conditionList struct {
	name       string
	conditions []metav1.Condition
}

// conditionLists returns all lists of conditions in a status: those of the object, its listeners, parents or
// ancestors. Each list has a name. To change a condition in a list changes the status, because the memory is
// shared.
func conditionLists(status any) (lists []conditionList) {
	switch s := status.(type) {
	case *gwv1.GatewayClassStatus:
		lists = append(lists, conditionList{"", s.Conditions})
	case *gwv1.GatewayStatus:
		lists = append(lists, conditionList{"", s.Conditions})
		for _, l := range s.Listeners {
			lists = append(lists, conditionList{string(l.Name), l.Conditions})
		}
	case *gwv1.ListenerSetStatus:
		lists = append(lists, conditionList{"", s.Conditions})
		for _, l := range s.Listeners {
			lists = append(lists, conditionList{string(l.Name), l.Conditions})
		}
	case *gwv1.RouteStatus:
		for _, p := range s.Parents {
			lists = append(lists, conditionList{refName(p.ParentRef), p.Conditions})
		}
	case *api.GatewayExtensionStatus:
		lists = append(lists, conditionList{"", s.Conditions})
	case *gwv1.PolicyStatus:
		for _, a := range s.Ancestors {
			lists = append(lists, conditionList{refName(a.AncestorRef), a.Conditions})
		}
	}
	return lists
}

// refName returns a parent reference as JSON. The text is used as the name of a conditionList.
func refName(ref gwv1.ParentReference) string {
	name, err := json.Marshal(ref)
	if err != nil {
		panic(err) // it has only strings and numbers, so this cannot happen
	}
	return string(name)
}
