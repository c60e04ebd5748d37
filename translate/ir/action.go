package ir

import (
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

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
	// RequestTimeout limits the whole exchange, BackendTimeout one attempt; nil means not set,
	// 0 means no limit.
	RequestTimeout *time.Duration
	BackendTimeout *time.Duration
	Retry          *Retry
	// CORS is the route's own setting, nil if it has none.
	CORS *CORS
	// ExternalAuth is the route's own authorization, nil if it has none.
	ExternalAuth *ExtAuth
	// Extras is what policies add, nil if they add nothing.
	Extras *Extras

	// Parts are the places that the action was read from, except for its backends: one for each
	// filter, and for timeouts and retry. A function that merges actions must merge Parts too.
	Parts []Part
}

// renamed returns the action with new names for all clusters: see Rule.Renamed.
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

// AuthInForce returns the route's own authorization, else that of policies, else nil.
func (a *Action) AuthInForce() *ExtAuth {
	if a.ExternalAuth == nil && a.Extras != nil {
		return a.Extras.ExtAuth
	}
	return a.ExternalAuth
}

// CORSInForce returns the route's own CORS, else that of policies, else nil.
func (a *Action) CORSInForce() *CORS {
	if a.CORS == nil && a.Extras != nil {
		return a.Extras.CORS
	}
	return a.CORS
}

// ClosedBy returns the object that makes the rule answer 500, "" if there is none.
func (a *Action) ClosedBy() string {
	if a.Respond == nil || len(a.Parts) == 0 || a.Parts[0].Kind != PartClosed {
		return ""
	}
	return a.Parts[0].Object.String()
}

// Kinds of Parts that are no fields of a policy.
const (
	PartTimeouts = "timeouts"
	PartRetry    = "retry"
	// PartExternalAuth is the kind of the Gateway API's filter ExternalAuth.
	PartExternalAuth = "ExternalAuth"
	// PartClosed is the kind of a Part that makes a rule answer 500: a policy that is missing
	// or invalid.
	PartClosed = "closed"
)

// Part is a place in the user's objects that a part of an Action was read from.
type Part struct {
	// Kind is the type of a filter, PartTimeouts, PartRetry, the PartKind of a Field or
	// PartClosed.
	Kind   string
	Object manifest.Key
	// Field is the path inside the object, such as "spec.rules[0].filters[1]".
	Field string
}

// Forward sends requests to one of several backends by weight.
type Forward struct {
	Backends []Backend
}

// Backend is one weighted target of a Forward.
type Backend struct {
	// Cluster is the xDS cluster's name; "" is a reference that could not be resolved: its
	// share answers 500 (Gateway API, HTTPRouteRule.backendRefs).
	Cluster         string
	Weight          uint32
	RequestHeaders  *HeaderMods
	ResponseHeaders *HeaderMods
	// Rewrite changes the host for this backend only; nil changes nothing.
	Rewrite *Rewrite
	// DNSName is the Host that autoHostRewrite sends to this backend, if another backend of the
	// rule has a Rewrite; "" keeps the client's Host.
	DNSName string
	// Field is the path of the reference inside the Rule's Source, such as
	// "spec.rules[0].backendRefs[1]".
	Field string
}

// Respond answers without a backend.
type Respond struct {
	Status uint32
	// Why is the reason as text, "" if problems of the rule report it.
	Why string
	// Unasked is an issuer that nobody has asked for its endpoints, if the rule is closed for no
	// other reason: it may serve where `gatefold serve` runs. Otherwise "".
	Unasked string
}

// HeaderMods changes headers: Set replaces, Add appends, Remove deletes. Values are plain text;
// xds escapes them. A nil HeaderMods changes nothing.
type HeaderMods struct {
	Set, Add []Header
	Remove   []string
}

// IsZero reports whether nothing is changed.
func (m *HeaderMods) IsZero() bool { return m == nil || len(m.Set)+len(m.Add)+len(m.Remove) == 0 }

// OrNone returns m, or an empty HeaderMods if m is nil.
func (m *HeaderMods) OrNone() HeaderMods {
	if m == nil {
		return HeaderMods{}
	}
	return *m
}

// Then returns one change with the effect of m and then next. Envoy removes first, then sets,
// then adds.
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
	// Port is the port in the Location; 0 keeps the request's.
	Port uint32
	// PortLess is true if Port is the default of the Location's scheme. It is then left out,
	// and the request's port too (Gateway API, HTTPRequestRedirectFilter.port).
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

// Of returns the change for a rule with that path match.
func (c PathChange) Of(path Path) *PathChange {
	c.Prefix = strings.TrimRight(path.Value, "/")
	return &c
}

// Mirror sends copies of requests to a cluster, and drops the answers.
type Mirror struct {
	Cluster string
	// Numerator of every Denominator requests are copied.
	Numerator, Denominator uint32
}

// Retry repeats failed attempts.
type Retry struct {
	Codes    []uint32 // sorted
	Attempts uint32
	// Backoff is the least wait between attempts, 0 for Envoy's default.
	Backoff time.Duration
	// On are Envoy's retry conditions. If it is empty, failures of the connection and Codes are
	// retried.
	On []string
	// PerTry limits one attempt, 0 is no limit.
	PerTry time.Duration
}
