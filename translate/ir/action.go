package ir

import (
	"slices"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Action is what happens to a matched request. Exactly one of Forward, Redirect and Respond is set.
type Action struct {
	Forward  *Forward
	Redirect *Redirect
	Respond  *Respond

	RequestHeaders  *HeaderMods
	ResponseHeaders *HeaderMods
	Rewrite         *Rewrite
	Mirrors         []Mirror
	// RequestTimeout limits the whole exchange. BackendTimeout limits one attempt. nil means not set, 0 means no
	// limit.
	RequestTimeout *time.Duration
	BackendTimeout *time.Duration
	Retry          *Retry
	// CORS is the setting of the route's own CORS filter. It is nil if the route has none. Policies set
	// Extras.CORS.
	CORS *CORS
	// ExternalAuth is the route's own filter ExternalAuth. It is nil if the route has none. Policies set
	// Extras.ExtAuth.
	ExternalAuth *ExtAuth
	// Extras is what policies add. It is nil if they add nothing.
	Extras *Extras

	// Parts name the fields that the action was read from, except for its backends. There is one Part for each
	// filter, for each field of a policy, for timeouts and for retry. If the action fails closed, there may be Parts
	// of the kind PartClosed instead. A function that merges actions must merge Parts, too.
	Parts []Part
}

// renamed returns a copy of the action with new cluster names, as Rule.Renamed does for a rule.
func (a *Action) renamed(name func(string) string) Action {
	out := *a
	rename := func(cluster *string) {
		if *cluster != "" {
			*cluster = name(*cluster)
		}
	}
	if a.Forward != nil {
		out.Forward = &Forward{Backends: slices.Clone(a.Forward.Backends)}
		for i := range out.Forward.Backends {
			rename(&out.Forward.Backends[i].Cluster)
		}
	}
	out.Mirrors = slices.Clone(a.Mirrors)
	for i := range out.Mirrors {
		rename(&out.Mirrors[i].Cluster)
	}
	if a.ExternalAuth != nil {
		out.ExternalAuth = copied(a.ExternalAuth)
		out.ExternalAuth.rename(name)
	}
	out.Extras = a.Extras.Renamed(name)
	return out
}

// AuthInForce returns the authorization that applies: the route's own filter ExternalAuth, or extAuth of
// policies if the route has no such filter. It returns nil if policies have no extAuth either.
func (a *Action) AuthInForce() *ExtAuth {
	if a.ExternalAuth == nil && a.Extras != nil {
		return a.Extras.ExtAuth
	}
	return a.ExternalAuth
}

// CORSInForce returns the CORS settings that apply: those of the route's own filter, or those of policies if
// the route has no such filter. It returns nil if policies have no cors either.
func (a *Action) CORSInForce() *CORS {
	if a.CORS == nil && a.Extras != nil {
		return a.Extras.CORS
	}
	return a.CORS
}

// ClosedBy returns, as text, the object that makes the action fail closed, for example an invalid policy. An
// action that fails closed answers 500, or 503 for a GRPCRoute. The first entry of Parts names the object, if the
// entry is of the kind PartClosed. ClosedBy returns "" if the action does not fail closed, or if the first entry of
// Parts is of another kind.
func (a *Action) ClosedBy() string {
	if a.Respond == nil || len(a.Parts) == 0 || a.Parts[0].Kind != PartClosed {
		return ""
	}
	return a.Parts[0].Object.String()
}

// Kinds of Parts that are not fields of a policy.
const (
	PartTimeouts = "timeouts"
	PartRetry    = "retry"
	// PartExternalAuth is the kind of the Gateway API's filter ExternalAuth.
	PartExternalAuth = "ExternalAuth"
	// PartClosed is the kind of a Part that makes a rule fail closed, for example because a policy is invalid or
	// missing, or because Envoy rejected the rule.
	PartClosed = "closed"
)

// Part records where one setting of an Action was read from: the object, the field in the object, and the kind of
// setting.
type Part struct {
	// Kind says what the field sets: the type of a filter, PartTimeouts, PartRetry, PartClosed, or the result of
	// Field.PartKind for a field of a TrafficPolicy.
	Kind   string
	Object manifest.Key
	// Field is the path inside the object, for example "spec.rules[0].filters[1]".
	Field string
}

// PartValue is one setting of an Action. Its value is the value of one field of the Action or of its Extras, or an
// array with the values of two fields.
type PartValue struct {
	Kind  string // as Part.Kind
	Value any
}

// PartValues returns the settings of an action, so that package plan can compare two actions. There is one
// PartValue for each type of filter except ExtensionRef, for timeouts, for retry, and for each field of
// TrafficPolicies. A setting that the action does not have is included with an empty value. So the results for all
// actions have the same kinds in the same order.
func (a *Action) PartValues() []PartValue {
	return append([]PartValue{
		{string(gwv1.HTTPRouteFilterRequestRedirect), a.Redirect},
		{string(gwv1.HTTPRouteFilterURLRewrite), a.Rewrite},
		{string(gwv1.HTTPRouteFilterRequestHeaderModifier), a.RequestHeaders},
		{string(gwv1.HTTPRouteFilterResponseHeaderModifier), a.ResponseHeaders},
		{string(gwv1.HTTPRouteFilterRequestMirror), a.Mirrors},
		{string(gwv1.HTTPRouteFilterCORS), a.CORS},
		{PartExternalAuth, a.ExternalAuth},
		{PartTimeouts, [2]any{a.RequestTimeout, a.BackendTimeout}},
		{PartRetry, a.Retry},
	}, a.Extras.partValues()...)
}

// Forward sends each request to one of the backends, chosen by weight.
type Forward struct {
	Backends []Backend
}

// Backend is one weighted target of a Forward.
type Backend struct {
	// Cluster is the name of the xDS cluster. It is "" for a reference that could not be resolved, and for a
	// backendRef with a filter that cannot be applied. The backend's share of requests is then answered with 500, or
	// with 503 for a GRPCRoute (see Path.Unresolved). Its share of connections is closed, and its share of datagrams
	// is dropped.
	Cluster         string
	Weight          uint32
	RequestHeaders  *HeaderMods
	ResponseHeaders *HeaderMods
	// Rewrite changes the host for this backend only. nil means that the backend has no host of its own.
	Rewrite *Rewrite
	// DNSName is the DNS name of the backend's endpoints. It is used if autoHostRewrite is on and another backend of
	// the rule has a Rewrite. The new Host must then be set for each backend, and not for the whole rule: DNSName
	// becomes the Host for this backend. If DNSName is "", the backend gets the client's Host.
	DNSName string
	// Field is the path of the reference inside the Rule's Source, for example "spec.rules[0].backendRefs[1]".
	Field string
}

// Respond answers without a backend.
type Respond struct {
	Status uint32
	// Why is the reason for the answer, as text. It is "" if the problems of the rule report the reason.
	Why string
	// Unasked is the URL of an OpenID issuer. It is set if the rule answers an error only because nothing has
	// requested the issuer's discovery document. `gatefold serve` requests it, so the rule may be served there. In
	// all other cases Unasked is "".
	Unasked string
}

// HeaderMods changes headers: Set replaces a value, Add appends a value, Remove deletes a header. Values are
// plain text, which package xds escapes. A nil HeaderMods changes nothing.
type HeaderMods struct {
	Set, Add []Header
	Remove   []string
}

// IsZero reports whether m changes nothing.
func (m *HeaderMods) IsZero() bool { return m == nil || len(m.Set)+len(m.Add)+len(m.Remove) == 0 }

// OrNone returns m, or an empty HeaderMods if m is nil.
func (m *HeaderMods) OrNone() HeaderMods {
	if m == nil {
		return HeaderMods{}
	}
	return *m
}

// Then returns one HeaderMods with the same effect as m followed by the HeaderMods next. It relies on Envoy's
// order: first remove, then set, then add. If m changes nothing, it returns next, which may be nil. If next changes
// nothing, it returns m.
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

// Redirect answers with a Location. Empty fields use the values of the request.
type Redirect struct {
	Scheme   string
	Hostname string
	// Port is the port in the Location. It is 0 only if Hostname is set and no port is written, or if the route is
	// served on no port. So the Location never has the port of the request's Host.
	Port uint32
	// PortLess is true if Port is the default of the Location's scheme and must not be written (Gateway API,
	// HTTPRequestRedirectFilter.port). If PortLessIn is not "", this holds only for a Location of that scheme: the route
	// then has HTTP and HTTPS listeners on one port, of different Gateways.
	PortLess   bool
	PortLessIn string
	Status     uint32
	Path       *PathChange
}

// Rewrite changes the host or the path before the request is forwarded.
type Rewrite struct {
	Hostname string
	Path     *PathChange
}

// PathChange replaces the whole path by Value if Full is true. If Full is false, it replaces only Prefix, the
// beginning of the path, by Value.
type PathChange struct {
	Full   bool
	Value  string // in place of the whole path: at least "/"; of a prefix: without a slash at its end, "" for "/"
	Prefix string // the matched prefix, without a slash at its end, "" for "/"
}

// Of returns a copy of the change for one rule. The parameter path is the rule's path match. The copy's Prefix is
// the value of the path match, without a slash at its end. If Full is false, the copy replaces this prefix.
func (c PathChange) Of(path Path) *PathChange {
	c.Prefix = strings.TrimRight(path.Value, "/")
	return &c
}

// Mirror sends copies of requests to a cluster and discards the answers.
type Mirror struct {
	Cluster string
	// Envoy copies the fraction Numerator/Denominator of the requests. A Denominator of 0 means all requests.
	Numerator, Denominator uint32
}

// Retry configures retries of failed attempts.
type Retry struct {
	Codes    []uint32 // sorted
	Attempts uint32
	// Backoff is the longest wait before the first retry, from which Envoy computes the waits before further
	// retries. 0 means Envoy's default.
	Backoff time.Duration
	// On are Envoy's retry conditions. If there are none, attempts that fail before the backend answers are
	// retried. Answers with one of Codes are retried in any case.
	On []string
	// PerTry limits the time of one attempt. 0 means no limit.
	PerTry time.Duration
}
