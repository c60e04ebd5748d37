package ir

import (
	"strings"
	"time"
)

// Field names a field of TrafficPolicies by its path below spec.
type Field string

// The fields of TrafficPolicies. Each has a row in policy.Fields (how it is merged), in package
// xds (what Envoy is sent) and in package explain (its text).
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

// partOfPolicy begins the Kind of each Part that is a field of a TrafficPolicy.
const partOfPolicy = "TrafficPolicy "

// Path returns the field's path inside a TrafficPolicy.
func (f Field) Path() string { return "spec." + string(f) }

// PartKind returns the Kind of a Part that is the field of a TrafficPolicy.
func (f Field) PartKind() string { return partOfPolicy + string(f) }

// PolicyField returns the TrafficPolicy field that the Part is for; ok is false for other
// Parts.
func (p Part) PolicyField() (field Field, ok bool) {
	name, ok := strings.CutPrefix(p.Kind, partOfPolicy)
	return Field(name), ok
}

// Extras is what policies add to an Action. The route's own settings (its timeouts, retry, header
// changes, host) are in the Action and win. The Parts of the Action have the place of each field.
type Extras struct {
	// Request and Response are changes by template, in order.
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
	// BufferBytes is the largest request that is buffered as a whole, 0 to buffer none.
	BufferBytes uint32

	RequestHeaders  HeaderMods
	ResponseHeaders HeaderMods
	// AutoHost sends the DNS name of the chosen endpoint as Host.
	AutoHost bool
	// RequestTimeout limits the whole exchange, IdleTimeout the time without any data; nil
	// means not set, 0 means no limit.
	RequestTimeout *time.Duration
	IdleTimeout    *time.Duration
	Retry          *Retry
	Hash           []Hash

	// LocationPort is a port that is removed from the Location of responses, 0 for none. xds
	// sets it for the route's own redirect; policies never do.
	LocationPort uint32

	// Forged are the identity headers that a virtual host removes from what clients send, sorted.
	// The host sets them; policies never do.
	Forged []string

	// Replaced are the fields of the virtual host's policies that the route's policies replace,
	// even with nothing.
	Replaced []Field
}

// OrNone returns e, or empty extras if e is nil.
func (e *Extras) OrNone() Extras {
	if e == nil {
		return Extras{}
	}
	return *e
}

// ChangeKind is the kind of a HeaderChange.
type ChangeKind uint8

// The kinds of header change.
const (
	SetHeader ChangeKind = iota
	AddHeader
	RemoveHeader
)

// HeaderChange is one step. Later steps see the result of earlier ones.
type HeaderChange struct {
	Kind  ChangeKind
	Name  string
	Value Template // of SetHeader and AddHeader
}

// Template is a value in parts, which are joined.
type Template []Expr

// Expr is plain text or a function of the request or response.
type Expr struct {
	// Func is "" for Text; "header" and "request_header" read the header named by Text; "lower"
	// and "upper" change their only argument; "default" returns Text if its only argument is
	// empty.
	Func string
	Text string
	Args []Expr
}

// RateLimit is a token bucket: it starts with Max tokens and adds Fill after each Interval.
type RateLimit struct {
	Max, Fill uint32
	Interval  time.Duration
	// Enabled and Enforced are percentages of the requests.
	Enabled, Enforced uint32
}

// CORS answers preflight requests of the Origins and adds the CORS headers to responses.
type CORS struct {
	Origins                []StringMatch
	Credentials            bool
	Methods, Headers, Show []string // Show are the headers that scripts may read
	MaxAge                 uint32   // in seconds
	// Alone is true if preflight requests of other origins are answered as well, without
	// Access-Control-Allow-Origin. Otherwise they are forwarded.
	Alone bool
}

// CSRF rejects requests that modify something and come from another origin.
type CSRF struct {
	Enabled, Shadowed uint32 // percentages of the requests
	Origins           []StringMatch
}

// StringKind is how a StringMatch compares.
type StringKind uint8

// The kinds of string match.
const (
	StringExact StringKind = iota
	StringPrefix
	StringSuffix
	StringContains
	StringRegex // over the whole text
)

// StringMatch compares one text.
type StringMatch struct {
	Kind       StringKind
	Value      string
	IgnoreCase bool // not for StringRegex
}

// Hash is one source of a request's hash: Header, Cookie or the client's address.
type Hash struct {
	Header   string
	Cookie   *HashCookie
	SourceIP bool
	// Terminal is true if later sources are ignored when this one has a value.
	Terminal bool
}

// HashCookie is the cookie that is hashed. If TTL is not nil, Envoy sets the cookie when it is
// missing.
type HashCookie struct {
	Name, Path       string
	TTL              *time.Duration // 0 is a session's cookie
	Secure, HTTPOnly bool
	SameSite         string // "Strict", "Lax", "None" or ""
}
