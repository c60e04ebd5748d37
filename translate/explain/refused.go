package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
)

// maxRefused bounds the refusals of a Report.
const maxRefused = 20

// refused tells, where no route takes the request, what the routes of the host
// do not hand requests to: whole routes, or some of their matches. The statuses
// say why.
func (b *reporter) refused() {
	if b.answer.Rule != nil && !b.answer.Rule.Guard {
		return
	}
	_, host, _ := pick(b.facts.View, b.query)
	if host == nil {
		return
	}
	parents := map[store.Key]bool{}
	for rule := range host.Rules {
		parents[rule.Source.Key] = true
		for _, hop := range rule.Chain {
			parents[hop.Route] = true
		}
	}
	for _, update := range b.facts.Statuses {
		route, ok := update.Status.(*gwv1.RouteStatus)
		if !ok {
			continue
		}
		for _, parent := range route.Parents {
			key, isRoute := parentRoute(update.Key, parent.ParentRef)
			if isRoute && parents[key] && len(b.report.Refused) < maxRefused {
				b.addRefusal(update.Key, key, parent.Conditions)
			}
		}
	}
}

func (b *reporter) addRefusal(child, parent store.Key, conditions []metav1.Condition) {
	for _, c := range conditions {
		notAccepted := c.Type == string(gwv1.RouteConditionAccepted) && c.Status != "True"
		if notAccepted || c.Type == string(gwv1.RouteConditionPartiallyInvalid) && c.Status == "True" {
			b.report.Refused = append(b.report.Refused, RefusedReport{
				Object: child, Parent: parent, Reason: c.Reason, Message: c.Message, At: Source{Object: child},
			})
		}
	}
}

// parentRoute gives the route that a parentRef of a child names.
func parentRoute(child store.Key, ref gwv1.ParentReference) (key store.Key, isRoute bool) {
	if ref.Kind == nil || *ref.Kind != "HTTPRoute" {
		return key, false
	}
	key = store.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: child.Namespace, Name: string(ref.Name)}
	if ref.Namespace != nil {
		key.Namespace = string(*ref.Namespace)
	}
	return key, true
}
