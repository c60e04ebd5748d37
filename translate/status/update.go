// Package status builds the status of objects. Each condition has one constructor, and the terms are those of
// the Gateway API.
package status

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// Update is the new status of one object.
type Update struct {
	Key        manifest.Key
	Generation int64
	// Gateway is the "namespace/name" of the Gateway whose Envoys decide whether the object is programmed. It is
	// "" if no Gateway does.
	Gateway string
	// Envoy is the name of the Envoy listener that serves each listener of the object, by the listener's name.
	Envoy map[string]string
	// Status is *gwv1.GatewayClassStatus, *gwv1.GatewayStatus, *gwv1.ListenerSetStatus, *gwv1.RouteStatus (for
	// every kind of route), *gwv1.PolicyStatus or *api.GatewayExtensionStatus. It is nil if the object no longer
	// has a status, for example because it was removed. Conditions have no transition time: the server sets it. If
	// only Envoy's answer is missing, the condition Programmed is Unknown/Pending. The server replaces that
	// condition when Envoys answer.
	Status any
	// State says in a word whether the object serves.
	State State
}

// State says in a word whether an object serves.
type State string

// The states of objects of which the newest version was tried. An object is OK if it serves, whatever parts of it are wrong.
const (
	OK        State = ""           // it serves
	Closed    State = "closed"     // it has a mistake: a route answers 500 to all of its requests, the targets of a policy do
	NotServed State = "not served" // it has a mistake, and does nothing
)
