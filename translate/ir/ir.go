// Package ir has the plain data between the Gateway API and Envoy. The rules of translate pass it to each
// other, to package xds and to package explain. A value never changes after it was passed on.
package ir

import (
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Port is one Envoy listener. It is everything that a Gateway serves on one TCP or UDP port.
type Port struct {
	// Name is the Envoy listener's name, for example "shop/eg/http-8080".
	Name string
	// Gateway is the Gateway's "namespace/name".
	Gateway string
	// Addresses are the IP addresses to bind, sorted. There is at least one.
	Addresses []string
	Port      uint32
	// UDP is true for a UDP port. The TCP port of the same number is another Port.
	UDP bool
	// Exclusive makes Envoy's bind fail if another process uses the port. If Exclusive is false, Envoy can share
	// the port with the other process. A UDP port ignores Exclusive.
	Exclusive bool
	Settings
	// Chains are the HTTP filter chains: one without TLS, or one for each hostname of the handshake (SNI). Chains is
	// empty if the port has only Streams.
	Chains []Chain
	// Streams are for TCP, TLS and UDP listeners, whose traffic Envoy does not read as HTTP. A port can have both
	// Streams and Chains with TLS.
	Streams []Stream
	// Listeners are the Gateway's listeners that this port serves, in the Gateway's order.
	Listeners []Listener
}

// GatewayKey returns the key of a Gateway. The parameter name is the Gateway's "namespace/name".
func GatewayKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}
}

// Settings apply to all listeners of a port. They are from annotations of the Gateway and from options of
// gatefold.
type Settings struct {
	// ProxyProtocol is true if each connection begins with a PROXY header.
	ProxyProtocol bool
	AccessLog     AccessLog
	// TrustedHops is the number of proxies in front of Envoy that are believed when they write X-Forwarded-For.
	TrustedHops uint32
}

// AccessLog is the format of the access log.
type AccessLog string

// The formats of the access log.
const (
	LogJSON AccessLog = ""
	LogText AccessLog = "text"
	LogOff  AccessLog = "off"
)

// Chain is one filter chain of a port. It has its own RouteConfiguration.
type Chain struct {
	// Name is "" without TLS. With TLS it is the hostname: "shop.example.com", "*.example.com", or "*" for any
	// other name and for no name. On one port, a hostname has either a Chain or Streams (see Stream.Chain).
	Name string
	// RouteConfig is the name of the chain's RouteConfiguration.
	RouteConfig string
	TLS         *TLS // nil for plain HTTP
}

// Listener is a listener of a Gateway.
type Listener struct {
	Name     string
	Hostname string // "shop.example.com", "*.example.com", "" for every host
	// Object is the Gateway or ListenerSet that defines the listener. Index is the listener's index in
	// spec.listeners of Object.
	Object manifest.Key
	Index  int
}

// ID returns a text that identifies the listener within its Gateway. It contains the ListenerSet if there is
// one, because listeners of different ListenerSets may have the same name.
func (l Listener) ID() string {
	if l.Object.Kind == "Gateway" {
		return l.Name
	}
	return l.Object.String() + " " + l.Name
}

// SplitListenerID splits a result of Listener.ID. For a listener of a ListenerSet, it returns the ListenerSet, the
// name of the listener, and true. For a listener of the Gateway itself, it returns the zero Key, id and false.
func SplitListenerID(id string) (set manifest.Key, name string, inSet bool) {
	parts := strings.Split(id, " ")
	if len(parts) != 3 {
		return set, id, false
	}
	set = manifest.Key{Group: gwv1.GroupName, Kind: parts[0]}
	set.Namespace, set.Name, _ = strings.Cut(parts[1], "/")
	return set, parts[2], true
}

// Rule is one match of one rule of an HTTPRoute or GRPCRoute, with the Action for requests that match. If several
// chains of parent routes lead to the route, there is one Rule for each chain.
type Rule struct {
	// Name is stable, and unique in its virtual host. It names the object, the rule and the chain:
	// "HTTPRoute/shop/cart/0/1" is rule 0, match 1.
	Name  string
	Match Match
	// Weight is the weight of EP-11466. It is 0 unless weighted precedence is on.
	Weight int32
	// Guard is true for the rule that gets the requests that a delegating match selects, but no child route
	// matches. Such a rule answers 500, or sends the requests to the backends of the delegating rule. Among rules
	// with an equal match, the guard is last (docs/design/routes.md).
	Guard bool
	// Root is the route that is attached to the Gateway. Source is the route with the rule. They are equal unless
	// the rule was delegated. Several rules may point to one Origin.
	Root, Source *Origin
	// Chain are the delegating rules above the rule, from the root to the parent of Source.
	Chain []Hop
	// Wider is the hostname of the root that is for the virtual host of the rule, if it is wider than the domain of the
	// virtual host: for example "*.com" in the virtual host *.foo.com, which is the hostname of the listener. It is "*"
	// for a root without hostnames. It is "" if the root has the domain itself as its hostname, or counts as if it had
	// (listen.Place.Own).
	Wider string
	// Blocks are set only if the weight of a rule counts among its siblings, and not in the whole virtual host (see
	// route.Compare). A block stands for a delegating match when rules are sorted: all rules below the match, and its
	// guard, stay together at the position of the block. Blocks has one block for each delegating match above the
	// rule, the outermost first. A guard also has the block of its own match. Only the fields of a block that the
	// order depends on are used.
	Blocks []*Rule
	// After is a rule or block of the same namespace that is heavier, and has the last standard place of those that are:
	// the rule stands at the place of After (route.Compare). It is nil for a rule at its own standard place, and
	// without path policies. Only the fields of After that the order depends on are set.
	After *Rule
	// Closed is set for a rule of a closed copy (manifest.Closed): the match whose place in the order the rule has, the last
	// among rules with an equal match. It is nil for any other rule.
	Closed *Match
	// Position has the index of the rule and the index of the match in Source. A rule with SignIn has a constant
	// instead of the index of a match. Ref is the index of the backendRef that leads to Source, in the last rule
	// of Chain. Ref is 0 for an included route and for a root. Chain, Position and Ref are the last criterion of
	// the order.
	Position []int
	Ref      int
	// Section is the name of the rule in its object (rules[].name). It is "" if the rule has no name.
	Section string
	// SignIn is the key of a GatewayExtension of an identity provider, if the rule was added for its callback path
	// or logout path. It is zero for a match that is in a route.
	SignIn manifest.Key
	// Preflight is set if the rule was added for the CORS preflight requests of another rule (Match.Preflight): it has
	// the place that a rule with the match Preflight has. CORS answers these requests, whatever their origin is. The
	// Position is that of the other rule. Preflight is nil for a match that is in a route.
	Preflight *Match
	Action    Action
	// Rejected is why Envoys rejected the rule, or why they are too old for it. It is nil as long as an Envoy serves
	// the rule. If Rejected is set, Envoys get a route that answers 500 instead, or no route if Rejected.Match is
	// true.
	Rejected *Rejection
}

// Rejection is why Envoys rejected a rule, a virtual host or the JWT providers of a GatewayExtension, or why they are
// too old for a rule or a virtual host.
type Rejection struct {
	// Match is true if Envoys reject the rule or host even when it answers 500. The rule or host is then left out.
	Match bool
	// Words are an Envoy's message. If Lacks is set, they say which Envoys are too old.
	Words string
	// Lacks is the field of TrafficPolicies that the Envoys are too old for. It is "" if they rejected the rule
	// for another reason.
	Lacks Field
	// Some is true if other Envoys serve the rule or host, so that explain treats it as served. Some is set only
	// together with Lacks.
	Some bool
}

// Hop is one step on the way from a root route to a Rule: one match of a rule of Route. The rule delegates the
// requests of this match to a child route. The child is the Route of the next Hop or, after the last Hop, the source
// of the Rule.
type Hop struct {
	Route   manifest.Key
	Created time.Time // see Origin
	// Ref says how the way came to Route: it is the index of the backendRef that selects Route, in the rule of the
	// previous Hop. See Rule.Ref.
	Ref         int
	Rule, Match int
	// Section is the name of the rule. It is "" if the rule has no name.
	Section string
	// Included is true if the child names this rule in its parentRefs (GEP-1058). It is false if this rule names
	// the child (EP-10943).
	Included bool
	Outside  bool // see Origin
}

// Origin is an object with its age, for conflict resolution.
type Origin struct {
	Key manifest.Key
	// Created is metadata.creationTimestamp, or zero if there is none. Objects with a creationTimestamp come first
	// (docs/design/inputs.md).
	Created time.Time
	// Outside is true if path policies are used and the object is not from a file that --cluster-paths names.
	// Outside objects come last, and their Created is always zero.
	Outside bool
}
