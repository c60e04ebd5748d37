package ir

import (
	"iter"

	"github.com/gatefold/gatefold/store/manifest"
)

// View is everything that is served, for explain. It shares the tables of the translator and is
// immutable.
type View struct {
	Gateways []GatewayView
	// Clusters are those that a Gateway uses, by name.
	Clusters map[string]*Cluster
	// Certificates are those that listeners show, in no order.
	Certificates []Certificate
	// Policies are those of all kinds, valid or not, sorted by key.
	Policies []*Policy
	// Bounds are the hosts that the routes of a namespace may serve, by namespace. Namespaces
	// that may serve every host are not in it.
	Bounds map[string]Hosts
	// Delegations returns the matches that hand requests on to other routes. It may be nil.
	Delegations func() []Delegation
}

// Delegation is a match of a delegating rule, on ports of one number.
type Delegation struct {
	Port int32
	// Chain leads from the root to the match, which is the last.
	Chain []Hop
	// Match is that of the requests which arrive here, from the root on.
	Match *Match
	// To says which routes the rule selects; Names are those that it names one by one.
	To    []string
	Names []manifest.Key
	// NotAccepted are the routes that it selects, or that name it, and does not hand requests to.
	NotAccepted []NotAccepted
}

// NotAccepted is a route that a rule does not delegate to, with the reason.
type NotAccepted struct {
	Route manifest.Key
	Why   string // "Reason: message"
	// Minor is true if it does not matter under a rule with other routes below it: the route has
	// its place under other rules.
	Minor bool
}

// GatewayView is one Gateway.
type GatewayView struct {
	Name  string // "namespace/name"
	Ports []PortView
}

// PortView is one Envoy listener with the virtual hosts of its routes.
type PortView struct {
	Port *Port
	// Hosts are sorted by Chain, then Domain.
	Hosts []HostView
	// Claims are the headers for claims that Envoy takes out of the requests to every route with
	// jwtAuth: those of all Gateways, as one Envoy may serve them. An Envoy of this Gateway alone
	// takes out those of this Gateway.
	Claims []string
}

// HostView is the table of one domain.
type HostView struct {
	// Chain is the name of the Port's Chain that it is in.
	Chain  string
	Domain string // "shop.example.com", "*.example.com" or "*", in lower case
	// Rules returns the rules in the order in which Envoy tries them; Len is their number.
	Rules iter.Seq[*Rule]
	Len   int
	// Forged are the identity headers that are removed from what clients send.
	Forged []string
	// Attached returns the TrafficPolicies of the way to one of the rules: those attached to
	// its route, to routes above it and to its listener. It may be nil.
	Attached func(*Rule) []manifest.Key
}
