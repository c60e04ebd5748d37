package deltatest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// PendingGateway returns a Gateway's status as translate makes it. Only the answers of Envoys are missing, except for
// the listeners bad and early, which are decided without them. The parameter attached is how many routes the listener
// http has.
func PendingGateway(gateway string, attached int32) status.Update {
	open := metav1.Condition{Type: "Programmed", Status: "Unknown", Reason: "Pending"}
	return status.Update{Key: ir.GatewayKey(gateway), Gateway: gateway, Envoy: map[string]string{"http": gateway + "/http", "other": gateway + "/other"}, Status: &gwv1.GatewayStatus{
		Conditions: []metav1.Condition{{Type: "Accepted", Status: "True", Reason: "Accepted"}, open},
		Listeners: []gwv1.ListenerStatus{
			{Name: "http", AttachedRoutes: attached, Conditions: []metav1.Condition{open}},
			{Name: "bad", Conditions: []metav1.Condition{{Type: "Programmed", Status: "False", Reason: "Invalid"}}},
			{Name: "early", Conditions: []metav1.Condition{{Type: "Programmed", Status: "False", Reason: "Pending", Message: "no address"}}},
			{Name: "other", Conditions: []metav1.Condition{open}},
		},
	}}
}
