package ir

import (
	"iter"

	"github.com/gatefold/gatefold/store/manifest"
)

// View is everything that is served, for explain. It shares memory with the translator and is immutable.
type View struct {
	Gateways []GatewayView
	// Clusters are the clusters that a Gateway uses, by name.
	Clusters map[string]*Cluster
	// Certificates are the certificates that listeners use, in no particular order.
	Certificates []Certificate
	// Policies are the policies of all kinds, valid or not, sorted by key.
	Policies []*Policy
	// Bounds are the hosts that the routes of a namespace may serve, by namespace. A namespace that may serve
	// every host is not in the map.
	Bounds map[string]Hosts
	// Delegations returns the matches that delegate requests to other routes. It may be nil.
	Delegations func() []Delegation
}

// Delegation describes one match of a delegating rule, for explain. The rule delegates the requests of this match to
// child routes.
type Delegation struct {
	// Port is the port number of the listeners that serve the match. If listeners with two port numbers serve it,
	// there are two Delegations.
	Port int32
	// Chain is the path from the root to the match. The match is the last hop.
	Chain []Hop
	// Match is what a request must match to reach the child routes: the matches of all hops, combined.
	Match *Match
	// The field To says in words which routes the rule selects. Names are the routes that the rule names one by
	// one.
	To    []string
	Names []manifest.Key
	// NotAccepted are the routes that the rule does not delegate to, although the rule selects them, or although
	// their parentRefs name the rule.
	NotAccepted []NotAccepted
}

// NotAccepted is a route that a rule does not delegate to, with the reason.
type NotAccepted struct {
	Route manifest.Key
	Why   string // "Reason: message"
	// Minor is true in two cases: other matches of the parent route delegate to Route, or the sectionName in Route's
	// parentRef names no rule with allowedRoutes. Users need not see a minor rejection if the rule delegates to at
	// least one other route.
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
	// Claims are the headers that carry claims of tokens (JWTProvider.Claims), of all Gateways. An Envoy that serves
	// all Gateways removes all these headers from the requests to every route with jwtAuth. An Envoy that serves only
	// this Gateway removes only the headers of this Gateway.
	Claims []string
}

// HostView is a virtual host: the rules of one domain.
type HostView struct {
	// Chain is the name of the Port's Chain that contains the host.
	Chain  string
	Domain string // "shop.example.com", "*.example.com" or "*", in lower case
	// Rules returns the rules in the order in which Envoy tries them. Len is their number.
	Rules iter.Seq[*Rule]
	Len   int
	// Forged are the identity headers that are removed from clients' requests to all routes of the host. A rule may
	// remove more (see the method Rule.Forged).
	Forged []string
	// Attached returns the TrafficPolicies that affect a rule: the policies attached to its route, to the routes
	// above it and to its listener. It may be nil.
	Attached func(*Rule) []manifest.Key
}
