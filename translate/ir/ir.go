// Package ir is plain data between the Gateway API and Envoy: what the rules of
// translate hand to each other, to xds and to explain. Values are never changed
// after they were handed on.
package ir

import (
	"slices"
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
	// UDP tells that the port takes datagrams; TCP has ports of its own.
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

// GatewayKey gives the key of the Gateway "namespace/name".
func GatewayKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}
}

// Settings are what holds for a whole port.
type Settings struct {
	// ProxyProtocol tells that each connection begins with a PROXY header.
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
	// Match tells that they reject it also when it answers 500: it is left out.
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
	// Included tells that the child below named this rule by its parentRefs
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
	// Outside tells that path policies are in force and the object does not come from
	// cluster paths: objects that do go first, and Created is zero.
	Outside bool
}

// Action is what happens to a matched request: exactly one of Forward, Redirect
// and Respond is set.
type Action struct {
	Forward  *Forward
	Redirect *Redirect
	Respond  *Respond

	RequestHeaders  *HeaderMods
	ResponseHeaders *HeaderMods
	Rewrite         *Rewrite
	Mirrors         []Mirror
	// RequestTimeout limits the whole exchange, BackendTimeout one attempt;
	// nil means not set, 0 means no limit.
	RequestTimeout *time.Duration
	BackendTimeout *time.Duration
	Retry          *Retry
	// CORS is the route's own, nil when it says nothing.
	CORS *CORS
	// Extras is what policies add, nil when there are none.
	Extras *Extras

	// Parts tell where the action was read from, but for its back ends: one for
	// each filter, and for timeouts and retry. Whoever merges actions merges them.
	Parts []Part
}

// CORSInForce is the route's own, else what policies add, else nil.
func (a *Action) CORSInForce() *CORS {
	if a.CORS == nil && a.Extras != nil {
		return a.Extras.CORS
	}
	return a.CORS
}

// ClosedBy names the object for which the rule answers 500, "" where it is not closed by one.
func (a *Action) ClosedBy() string {
	if a.Respond == nil || len(a.Parts) == 0 || a.Parts[0].Kind != PartClosed {
		return ""
	}
	return a.Parts[0].Object.String()
}

// The Kinds of Parts that are neither a filter nor a field of a policy.
const (
	PartTimeouts = "timeouts"
	PartRetry    = "retry"
	// PartClosed makes a rule answer 500: a policy that is missing, or what is wrong with one.
	PartClosed = "closed"
)

// Part is the place in the user's objects that a part of an Action was read from.
type Part struct {
	// Kind is the type of a filter, PartTimeouts, PartRetry, the PartKind of a Field or
	// PartClosed.
	Kind   string
	Object manifest.Key
	// Field is the path inside the object, such as "spec.rules[0].filters[1]".
	Field string
}

// Forward sends to one of several back ends by weight.
type Forward struct {
	Backends []Backend
}

// Backend is one weighted target of a Forward.
type Backend struct {
	// Cluster is the xDS cluster's name; "" stands for a reference that could
	// not be resolved: its share answers 500 (Gateway API, HTTPRouteRule.backendRefs).
	Cluster         string
	Weight          uint32
	RequestHeaders  *HeaderMods
	ResponseHeaders *HeaderMods
	// Rewrite is of the host alone, for one of several back ends; nil for none.
	Rewrite *Rewrite
	// DNSName is the host that autoHostRewrite sends where another one of several backends
	// has a Rewrite; "" leaves the client's.
	DNSName string
	// Field is the path of the reference inside the Rule's Source, such as
	// "spec.rules[0].backendRefs[1]".
	Field string
}

// Respond answers without a back end.
type Respond struct {
	Status uint32
	// Why is the reason in words, "" where problems of the rule tell it.
	Why string
}

// HeaderMods changes headers: Set replaces, Add appends, Remove deletes.
// Values are plain text; xds escapes them. Most rules change none: nil is that, too.
type HeaderMods struct {
	Set, Add []Header
	Remove   []string
}

// IsZero tells whether nothing is changed.
func (m *HeaderMods) IsZero() bool { return m == nil || len(m.Set)+len(m.Add)+len(m.Remove) == 0 }

// OrNone gives what is changed, empty lists where that is nothing.
func (m *HeaderMods) OrNone() HeaderMods {
	if m == nil {
		return HeaderMods{}
	}
	return *m
}

// Then gives the one change that does what m does, and then what next does.
// Envoy removes, then sets, then adds.
func (m *HeaderMods) Then(next *HeaderMods) *HeaderMods {
	switch {
	case m.IsZero():
		return next
	case next.IsZero():
		return m
	}
	replaced := func(name string) bool {
		same := func(other string) bool { return strings.EqualFold(other, name) }
		return slices.ContainsFunc(next.Remove, same) ||
			slices.ContainsFunc(next.Set, func(h Header) bool { return same(h.Name) })
	}
	undone := func(h Header) bool { return replaced(h.Name) }
	return &HeaderMods{
		Set:    slices.Concat(slices.DeleteFunc(slices.Clone(m.Set), undone), next.Set),
		Add:    slices.Concat(slices.DeleteFunc(slices.Clone(m.Add), undone), next.Add),
		Remove: slices.Concat(slices.DeleteFunc(slices.Clone(m.Remove), replaced), next.Remove),
	}
}

// Header is a name and a plain value.
type Header struct {
	Name, Value string
}

// Redirect answers with a Location. Empty parts are taken from the request.
type Redirect struct {
	Scheme   string
	Hostname string
	// Port is 0 to take over the request's, else written into the Location.
	Port uint32
	// PortLess tells that Port is the default of the Location's scheme and is left out there,
	// as the request's is (Gateway API, HTTPRequestRedirectFilter.port).
	PortLess bool
	Status   uint32
	Path     *PathChange
}

// Rewrite changes host or path before forwarding.
type Rewrite struct {
	Hostname string
	Path     *PathChange
}

// PathChange replaces the full path, or the prefix that the match named.
type PathChange struct {
	Full   bool
	Value  string // for a prefix: without trailing slash, "" for "/"
	Prefix string // the matched prefix, without trailing slash, "" for "/"
}

// Of gives the change for a rule of that path match.
func (c PathChange) Of(path Path) *PathChange {
	c.Prefix = strings.TrimRight(path.Value, "/")
	return &c
}

// Mirror copies requests to a cluster; the answer is dropped.
type Mirror struct {
	Cluster string
	// Numerator of Denominator requests are copied.
	Numerator, Denominator uint32
}

// Retry repeats failed attempts.
type Retry struct {
	Codes    []uint32 // sorted
	Attempts uint32
	// Backoff is the least wait between attempts, 0 for Envoy's own.
	Backoff time.Duration
	// On are Envoy's conditions; none stands for failures of the connection and
	// Codes.
	On []string
	// PerTry limits one attempt, 0 is no limit.
	PerTry time.Duration
}
