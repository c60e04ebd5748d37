// Package status builds the status of objects: each condition has one
// constructor, and the words are those of the Gateway API.
package status

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// Update is the new status of one object.
type Update struct {
	Key        manifest.Key
	Generation int64
	// Gateway is the "namespace/name" of the Gateway whose Envoys decide whether the object is
	// programmed; "" for none.
	Gateway string
	// Envoy names the Envoy listener that serves each listener of the object.
	Envoy map[string]string
	// Status is *gwv1.GatewayClassStatus, *gwv1.GatewayStatus, *gwv1.ListenerSetStatus,
	// *gwv1.RouteStatus (for every
	// kind of route), *gwv1.PolicyStatus or *api.GatewayExtensionStatus;
	// nil when the object is gone. Conditions carry no transition time (server
	// stamps it), and a Gateway's or listener's Programmed condition is
	// Unknown/Pending where only Envoy's answer is missing: server replaces it by
	// what the streams acknowledged.
	Status any
}
