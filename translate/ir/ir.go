// Package ir is plain data between the Gateway API and Envoy: what the rules of
// translate hand to each other, to xds and to explain. Values are never changed
// after they were handed on.
package ir

import (
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Port is one Envoy listener: everything that a Gateway serves on one port.
type Port struct {
	// Name is the Envoy listener's name, such as "shop/eg/http-8080".
	Name string
	// Gateway is "namespace/name".
	Gateway string
	// Addresses are the IP addresses to bind, never empty, sorted.
	Addresses []string
	Port      uint32
	// UDP is true for a UDP port. The TCP port of the same number is another Port.
	UDP bool
	// Exclusive makes Envoy's bind fail if another process uses the port, instead of sharing
	// it.
	Exclusive bool
	Settings
	// Chains are the HTTP filter chains: one without TLS, or one for each hostname of the
	// handshake (SNI).
	Chains []Chain
	// Streams forward connections and datagrams unchanged. Streams with TLS may be beside
	// Chains with TLS.
	Streams []Stream
	// Listeners are the Gateway's listeners that this port serves, in the Gateway's order.
	Listeners []Listener
}

// GatewayKey returns the key of the Gateway "namespace/name".
func GatewayKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}
}

// Settings are the settings of a whole port.
type Settings struct {
	// ProxyProtocol is true if each connection begins with a PROXY header.
	ProxyProtocol bool
	AccessLog     AccessLog
	// TrustedHops is how many proxies in front of Envoy are believed when they write
	// X-Forwarded-For.
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

// Chain is one filter chain of a port, with a route table of its own.
type Chain struct {
	// Name is "" without TLS, else the hostname: "shop.example.com", "*.example.com", or "*"
	// for every other name and for none. No stream of the port has the same name.
	Name string
	// RouteConfig is the name of the RouteConfiguration served here.
	RouteConfig string
	TLS         *TLS // nil for plain HTTP
}

// Listener is a listener of a Gateway.
type Listener struct {
	Name     string
	Hostname string // "shop.example.com", "*.example.com", "" for every host
	// Object is the Gateway or ListenerSet that defines it, and Index its index in
	// spec.listeners there.
	Object manifest.Key
	Index  int
}

// ID identifies the listener within its Gateway. Listeners of different ListenerSets may have
// the same name.
func (l Listener) ID() string {
	if l.Object.Kind == "Gateway" {
		return l.Name
	}
	return l.Object.String() + " " + l.Name
}

// SplitListenerID returns the ListenerSet that defines a listener with this ID, and its name
// there; inSet is false for a listener of the Gateway itself.
func SplitListenerID(id string) (set manifest.Key, name string, inSet bool) {
	parts := strings.Split(id, " ")
	if len(parts) != 3 {
		return set, id, false
	}
	set = manifest.Key{Group: gwv1.GroupName, Kind: parts[0]}
	set.Namespace, set.Name, _ = strings.Cut(parts[1], "/")
	return set, parts[2], true
}

// Rule is one flattened route: one match of one rule of one HTTPRoute, below
// one chain of parents, and what happens to a request that it matches.
type Rule struct {
	// Name is stable and unique in its table, and leads back to object, rule and chain:
	// "HTTPRoute/shop/cart/0/1" is rule 0, match 1.
	Name  string
	Match Match
	// Weight is the weight of EP-11466; 0 unless weighted precedence is on.
	Weight int32
	// Guard is true for a rule that answers 500 in place of something that could not be
	// resolved. It comes after other rules of equal match (docs/design/routes.md).
	Guard bool
	// Root is the route that is attached to the Gateway; Source is the route with the rule.
	// They are equal unless the rule was delegated. Rules of one route share them.
	Root, Source *Origin
	// Chain are the delegating rules above this one, root first.
	Chain []Hop
	// Blocks are the blocks that the rule cannot leave in the order, outermost first: matches
	// of delegating rules, each as the rule that would be in its place. It is nil unless
	// weights order only siblings (see route.Compare).
	Blocks []*Rule
	// Position is the rule and match in Source. Ref is the index of the backendRef, in the last
	// rule of Chain, that leads to Source; 0 for an included route or a root. With Chain they
	// are the last criterion of the order.
	Position []int
	Ref      int
	// Section is the name of the rule in its object (rules[].name), "" without one.
	Section string
	// SignIn is the GatewayExtension of an identity provider if the rule was added for its callback
	// path or logout path; zero for a match that a route has.
	SignIn manifest.Key
	Action Action
	// Rejected is why Envoys rejected the rule. It is nil unless every connected Envoy that has
	// its table rejected it. The table keeps the rule, and each Envoy gets the table without
	// it.
	Rejected *Rejection
}

// Rejection is why Envoys rejected a rule or a virtual host.
type Rejection struct {
	// Match is true if they reject the rule even when it answers 500: it is then left out.
	Match bool
	Words string
	// Lacks is the field of TrafficPolicies that the Envoys are too old for, "" if they rejected the rule.
	Lacks Field
	// Some is true if other Envoys serve the rule: it is not closed for explain. Only where Lacks is set.
	Some bool
}

// Hop is one match of a delegating rule, on the way from the root to a rule.
type Hop struct {
	Route   manifest.Key
	Created time.Time // as in Origin
	// Ref is the index of the backendRef of the hop above that leads to Route, as in Rule.
	Ref         int
	Rule, Match int
	// Section is the name of the rule, "" without one.
	Section string
	// Included is true if the child named this rule by its parentRefs (GEP-1058); false if this
	// rule named the child (EP-10943).
	Included bool
	Outside  bool // as in Origin
}

// Origin identifies a route and its age, for conflict resolution.
type Origin struct {
	Key manifest.Key
	// Created is metadata.creationTimestamp as written, zero if there is none. Objects with one
	// come first (docs/design/inputs.md).
	Created time.Time
	// Outside is true if path policies are in force and the object is not from cluster paths.
	// Objects from cluster paths come first, and Created is then zero.
	Outside bool
}
