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

// Port is one Envoy listener: all that a Gateway serves on one port.
type Port struct {
	// Name is the Envoy listener's name, such as "shop/eg/http-8080".
	Name string
	// Gateway is "namespace/name".
	Gateway string
	// Addresses are the IP addresses to bind, never empty, sorted.
	Addresses []string
	Port      uint32
	// UDP is true if the port takes datagrams; TCP has ports of its own.
	UDP bool
	// Exclusive has Envoy share the port with no other process.
	Exclusive bool
	Settings
	// Chains are the filter chains of HTTP: one without TLS, or one for each hostname
	// that clients may name in the handshake (SNI).
	Chains []Chain
	// Streams are what becomes of connections and datagrams that are handed on as
	// they are. TLS streams may stand beside Chains with TLS.
	Streams []Stream
	// Listeners are those of the Gateway that serve here, in its order.
	Listeners []Listener
}

// GatewayKey returns the key of the Gateway "namespace/name".
func GatewayKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}
}

// Settings are what holds for a whole port.
type Settings struct {
	// ProxyProtocol is true if each connection begins with a PROXY header.
	ProxyProtocol bool
	AccessLog     AccessLog
	// TrustedHops is how many proxies in front are believed what they write into
	// X-Forwarded-For.
	TrustedHops uint32
}

// AccessLog is the form of the access log.
type AccessLog string

// The forms.
const (
	LogJSON AccessLog = ""
	LogText AccessLog = "text"
	LogOff  AccessLog = "off"
)

// Chain is one filter chain of a port, with a table of its own.
type Chain struct {
	// Name is "" without TLS, else the hostname: "shop.example.com",
	// "*.example.com", or "*" for every other and for no name at all. No stream of
	// the port has it.
	Name string
	// RouteConfig is the name of the RouteConfiguration served here.
	RouteConfig string
	TLS         *TLS // nil for plain HTTP
}

// Listener is a listener of a Gateway.
type Listener struct {
	Name     string
	Hostname string // "shop.example.com", "*.example.com", "" for every host
	// Object is the Gateway or ListenerSet that it is written in, and Index its place
	// in spec.listeners there.
	Object manifest.Key
	Index  int
}

// ID names the listener within its Gateway: names may repeat from one ListenerSet to
// the next.
func (l Listener) ID() string {
	if l.Object.Kind == "Gateway" {
		return l.Name
	}
	return l.Object.String() + " " + l.Name
}

// SplitListenerID returns the ListenerSet that a listener with this ID is written in, and
// its name there; inSet is false for a listener of the Gateway itself.
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
	// Name is stable and unique in its table; object, rule and chain can be
	// looked up by it: "HTTPRoute/shop/cart/0/1" is rule 0, match 1.
	Name  string
	Match Match
	// Weight is EP-11466's; 0 unless weighted precedence is on.
	Weight int32
	// Guard marks a 500 that stands for what could not be resolved; it sorts
	// behind live rules of equal match (docs/design/routes.md).
	Guard bool
	// Root attaches to the Gateway; Source holds the rule. Both are the same
	// unless the rule was delegated. Rules of one route share them.
	Root, Source *Origin
	// Chain holds the delegating rules above this one, root first.
	Chain []Hop
	// Blocks are what the rule does not leave in the order, outermost first: matches
	// of delegating rules, each as the rule that would stand in its place. nil unless
	// weights order siblings alone (see route.Compare).
	Blocks []*Rule
	// Position is the place in Source: rule, match. Ref is the index of the backendRef of
	// the last rule of Chain that leads to Source, 0 for one that is included or a root.
	// With Chain they break the last tie.
	Position []int
	Ref      int
	// Section is the name of the rule in its object (rules[].name), "" without one.
	Section string
	Action  Action
	// Rejected is what Envoys said of the rule, nil unless every connected Envoy that has
	// its table rejected it: the table holds it as it is, and each Envoy is sent the table
	// without it.
	Rejected *Rejection
}

// Rejection is what Envoys said of a rule or a virtual host.
type Rejection struct {
	// Match is true if they reject it also when it answers 500: it is left out.
	Match bool
	Words string
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
	// Included is true if the child below named this rule by its parentRefs
	// (GEP-1058), and not the rule the child (EP-10943).
	Included bool
	Outside  bool // as in Origin
}

// Origin says who a route is and how old, for ties.
type Origin struct {
	Key manifest.Key
	// Created is metadata.creationTimestamp as written, zero when not: written
	// ones come first (docs/design/inputs.md).
	Created time.Time
	// Outside is true if path policies are in force and the object does not come from
	// cluster paths: objects that do go first, and Created is zero.
	Outside bool
}
