package ir

import (
	"strings"
	"time"
)

// Field names a field of TrafficPolicies by its path below spec.
type Field string

// The fields of TrafficPolicies. Each field has a row in policy.Fields (how it is merged), in package xds (what
// Envoy is sent), in package explain (its text) and in Extras.partValues (what plan compares).
const (
	FieldTransformation  Field = "transformation"
	FieldACL             Field = "acl"
	FieldRBAC            Field = "rbac"
	FieldExtAuth         Field = "extAuth"
	FieldExtProc         Field = "extProc"
	FieldBasicAuth       Field = "basicAuth"
	FieldAPIKeyAuth      Field = "apiKeyAuth"
	FieldOAuth2          Field = "oauth2"
	FieldJWTAuth         Field = "jwtAuth"
	FieldLocalRateLimit  Field = "rateLimit.local"
	FieldGlobalRateLimit Field = "rateLimit.global"
	FieldCORS            Field = "cors"
	FieldCSRF            Field = "csrf"
	FieldBuffer          Field = "buffer"
	FieldHeaderModifiers Field = "headerModifiers"
	FieldAutoHostRewrite Field = "autoHostRewrite"
	FieldTimeouts        Field = "timeouts"
	FieldRetry           Field = "retry"
	FieldHashPolicies    Field = "hashPolicies"
)

// partOfPolicy is the beginning of Part.Kind for each field of a TrafficPolicy. The name of the field follows.
const partOfPolicy = "TrafficPolicy "

// Path returns the field's path inside a TrafficPolicy, for example "spec.extAuth".
func (f Field) Path() string { return "spec." + string(f) }

// PartKind returns the value of Part.Kind (the kind of a setting) for this field of a TrafficPolicy.
func (f Field) PartKind() string { return partOfPolicy + string(f) }

// PolicyField returns the TrafficPolicy field that a setting (the Part) was read from. ok is false if the setting
// is not from a TrafficPolicy.
func (p Part) PolicyField() (field Field, ok bool) {
	name, ok := strings.CutPrefix(p.Kind, partOfPolicy)
	return Field(name), ok
}

// Extras is what policies add to an Action. The route's own settings (its timeouts, retry, header changes,
// host) are in the Action and win. Action.Parts says where each field was read from.
type Extras struct {
	// Request and Response are header changes whose values are templates, in order.
	Request, Response []HeaderChange
	RateLimit         *RateLimit
	ACL               *ACL
	RBAC              *RBAC
	ExtAuth           *ExtAuth
	ExtProc           *ExtProc
	BasicAuth         *BasicAuth
	APIKeyAuth        *APIKeyAuth
	OAuth2            *OAuth2
	JWTAuth           *JWTAuth
	GlobalLimit       *GlobalLimit
	CORS              *CORS
	CSRF              *CSRF
	// BufferBytes is the largest request body that Envoy buffers as a whole. 0 means no buffering.
	BufferBytes uint32

	RequestHeaders  HeaderMods
	ResponseHeaders HeaderMods
	// AutoHost is true if Envoy sends the DNS name of the chosen endpoint as Host.
	AutoHost bool
	// RequestTimeout limits the whole exchange. IdleTimeout limits the time without any data. nil means not set, 0
	// means no limit.
	RequestTimeout *time.Duration
	IdleTimeout    *time.Duration
	Retry          *Retry
	Hash           []Hash

	// Portless is a redirect whose port Envoy removes from the Location, or nil. xds sets it for the route's own
	// redirect; policies never do.
	Portless *Redirect

	// Preflight is true for a rule that was added for preflight requests (Rule.Preflight). CORS then answers those of
	// every origin, as with CORS.Alone. If the rule has no CORS, that of its virtual host answers. xds sets it; policies
	// never do.
	Preflight bool

	// Forged are the identity headers that a virtual host or a route removes from clients' requests, sorted. A route
	// removes those of its virtual host, too, and does not list them. Policies never set Forged.
	Forged []string

	// Replaced are the fields of the virtual host's policies that the route sets itself, even if only to turn the
	// field off. The route then does not get the value of the virtual host.
	Replaced []Field
}

// OrNone returns e, or empty Extras if e is nil.
func (e *Extras) OrNone() Extras {
	if e == nil {
		return Extras{}
	}
	return *e
}

// partValues returns the settings of the extras for Action.PartValues: one PartValue for each field of
// TrafficPolicies, also for fields that are not set. The receiver e may be nil.
func (e *Extras) partValues() []PartValue {
	x := e.OrNone()
	return []PartValue{
		{FieldACL.PartKind(), x.ACL},
		{FieldRBAC.PartKind(), x.RBAC},
		{FieldExtAuth.PartKind(), x.ExtAuth},
		{FieldExtProc.PartKind(), x.ExtProc},
		{FieldBasicAuth.PartKind(), x.BasicAuth},
		{FieldAPIKeyAuth.PartKind(), x.APIKeyAuth},
		{FieldOAuth2.PartKind(), x.OAuth2},
		{FieldJWTAuth.PartKind(), x.JWTAuth},
		{FieldLocalRateLimit.PartKind(), x.RateLimit},
		{FieldGlobalRateLimit.PartKind(), x.GlobalLimit},
		{FieldCORS.PartKind(), x.CORS},
		{FieldCSRF.PartKind(), x.CSRF},
		{FieldTransformation.PartKind(), [2]any{x.Request, x.Response}},
		{FieldBuffer.PartKind(), x.BufferBytes},
		{FieldHeaderModifiers.PartKind(), [2]any{x.RequestHeaders, x.ResponseHeaders}},
		{FieldAutoHostRewrite.PartKind(), x.AutoHost},
		{FieldTimeouts.PartKind(), [2]any{x.RequestTimeout, x.IdleTimeout}},
		{FieldRetry.PartKind(), x.Retry},
		{FieldHashPolicies.PartKind(), x.Hash},
	}
}

// ChangeKind is the kind of a HeaderChange.
type ChangeKind uint8

// The kinds of header change.
const (
	SetHeader ChangeKind = iota
	AddHeader
	RemoveHeader
)

// HeaderChange is one change of a header. Later changes see the result of earlier ones.
type HeaderChange struct {
	Kind  ChangeKind
	Name  string
	Value Template // for SetHeader and AddHeader
}

// Template is the value of a header, as a list of expressions. The results of the expressions are joined
// without a separator.
type Template []Expr

// Expr is plain text, or a function of the request or response.
type Expr struct {
	// Func is the name of the function, or "" for the plain text Text. "header" and "request_header" read the
	// header that Text names. "lower" and "upper" change the case of their only argument. "default" returns its
	// only argument, or Text if the argument is empty.
	Func string
	Text string
	Args []Expr
}

// RateLimit is a token bucket. It starts with Max tokens and gets Fill tokens after each Interval.
type RateLimit struct {
	Max, Fill uint32
	Interval  time.Duration
	// Enabled is the percentage of the requests that are counted. Enforced is the percentage that may be rejected.
	Enabled, Enforced uint32
}

// CORS answers preflight requests of the Origins, and adds the CORS headers to responses.
type CORS struct {
	Origins                []StringMatch
	Credentials            bool
	Methods, Headers, Show []string // Show are the headers that scripts may read
	MaxAge                 uint32   // in seconds
	// Alone is true if preflight requests of other origins are answered, too, but without
	// Access-Control-Allow-Origin. Otherwise they are forwarded to the backend.
	Alone bool
}

// OrNone returns c, or an empty CORS if c is nil.
func (c *CORS) OrNone() CORS {
	if c == nil {
		return CORS{}
	}
	return *c
}

// CSRF rejects modifying requests from another origin. Origins are the other origins that it accepts. Enabled is the
// percentage of the requests that may be rejected. Shadowed is the percentage of the requests that are checked and
// counted, even if they are not rejected.
type CSRF struct {
	Enabled, Shadowed uint32
	Origins           []StringMatch
}

// StringKind is how a StringMatch compares texts.
type StringKind uint8

// The kinds of string match.
const (
	StringExact StringKind = iota
	StringPrefix
	StringSuffix
	StringContains
	StringRegex // for the whole text
)

// StringMatch is a condition for one text.
type StringMatch struct {
	Kind       StringKind
	Value      string
	IgnoreCase bool // not used for StringRegex
}

// Hash is one source of the hash by which Envoy chooses an endpoint (RingHash, Maglev). Exactly one of Header,
// Cookie and SourceIP is set.
type Hash struct {
	Header   string
	Cookie   *HashCookie
	SourceIP bool
	// Terminal is true if Envoy ignores later sources when the request has a value for this one.
	Terminal bool
}

// HashCookie is the cookie that is hashed. If TTL is not nil, Envoy sets a missing cookie.
type HashCookie struct {
	Name, Path       string
	TTL              *time.Duration // 0 means a session cookie
	Secure, HTTPOnly bool
	SameSite         string // "Strict", "Lax", "None" or ""
}
