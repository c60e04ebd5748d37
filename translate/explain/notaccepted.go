package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// maxNotAccepted is the largest number of routes in Report.NotAccepted.
const maxNotAccepted = 20

// notAccepted adds to the report (Report.NotAccepted) the routes that might match the request, but that a parent
// route rejects, entirely or in part. It adds no route if a rule matches the request, unless this rule is a guard
// (ir.Rule.Guard). Report.NotAccepted gets at most maxNotAccepted entries. The reasons are from the routes' statuses.
func (b *requestReporter) notAccepted() {
	if b.answer.Rule != nil && !b.answer.Rule.Guard {
		return
	}
	over := b.overlaps()
	var found []NotAcceptedReport
	var routes []manifest.Key
	for _, update := range b.facts.Statuses {
		route, ok := update.Status.(*gwv1.RouteStatus)
		if !ok {
			continue
		}
		for _, parent := range route.Parents {
			key, isRoute := parentRoute(update.Key, parent.ParentRef)
			if isRoute && over.routes[key] {
				found = append(found, rejections(update.Key, key, parent.Conditions)...)
				routes = append(routes, update.Key)
			}
		}
	}
	over.read(routes, b.facts.Outlines)
	for _, r := range found {
		if len(b.report.NotAccepted) < maxNotAccepted && (!over.outlines[r.Object].Found || over.fit(r.Object, -1, -1) > 0) {
			b.report.NotAccepted = append(b.report.NotAccepted, r)
		}
	}
}

// rejections returns an entry for each condition with which a parent rejects a child, entirely or in part.
func rejections(child, parent manifest.Key, conditions []metav1.Condition) (out []NotAcceptedReport) {
	for _, c := range conditions {
		notAccepted := c.Type == string(gwv1.RouteConditionAccepted) && c.Status != "True"
		if notAccepted || c.Type == string(gwv1.RouteConditionPartiallyInvalid) && c.Status == "True" {
			out = append(out, NotAcceptedReport{Object: child, Parent: parent, Reason: c.Reason, Message: c.Message, At: Source{Object: child}})
		}
	}
	return out
}

// parentRoute returns the HTTPRoute that a parentRef of a child names. isRoute is false if the parentRef names
// another kind.
func parentRoute(child manifest.Key, ref gwv1.ParentReference) (key manifest.Key, isRoute bool) {
	if ref.Kind == nil || *ref.Kind != "HTTPRoute" {
		return key, false
	}
	key = manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: child.Namespace, Name: string(ref.Name)}
	if ref.Namespace != nil {
		key.Namespace = string(*ref.Namespace)
	}
	return key, true
}
