package ir

import (
	"strings"
	"time"
)

// Field names a field of TrafficPolicies by its path below spec.
type Field string

// The fields of TrafficPolicies. Each has a row in policy.Fields (how it is merged), in
// package xds (what Envoy is sent) and in package explain (what is said of it).
const (
	FieldTransformation  Field = "transformation"
	FieldExtAuth         Field = "extAuth"
	FieldExtProc         Field = "extProc"
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

// PolicyField returns the field of a TrafficPolicy that the Part is; ok is false for other
// Parts.
func (p Part) PolicyField() (field Field, ok bool) {
	name, ok := strings.CutPrefix(p.Kind, partOfPolicy)
	return Field(name), ok
}

// Extras is what policies add to an Action. What the route itself says (its
// timeouts, retry, header changes, host) is in the Action and goes before. The
// Parts of the Action tell where each field comes from.
type Extras struct {
	// Request and Response are changes by template, in order.
	Request, Response []HeaderChange
	RateLimit         *RateLimit
	ExtAuth           *ExtAuth
	ExtProc           *ExtProc
	GlobalLimit       *GlobalLimit
	CORS              *CORS
	CSRF              *CSRF
	// BufferBytes is the largest request that is read whole, 0 to read none.
	BufferBytes uint32

	RequestHeaders  HeaderMods
	ResponseHeaders HeaderMods
	// AutoHost sends the DNS name of the chosen endpoint as Host.
	AutoHost bool
	// RequestTimeout limits the whole exchange, IdleTimeout the time in which
	// nothing moves; nil means not set, 0 means no limit.
	RequestTimeout *time.Duration
	IdleTimeout    *time.Duration
	Retry          *Retry
	Hash           []Hash

	// LocationPort is a port that is taken out of the Location of answers, 0 for none. It
	// comes from the route's own redirect (xds), and from no policy.
	LocationPort uint32

	// Replaced are the fields of the virtual host's policies that those of the
	// route stand for, also where nothing is left of them.
	Replaced []Field
}

// OrNone returns the extras, empty ones for nil.
func (e *Extras) OrNone() Extras {
	if e == nil {
		return Extras{}
	}
	return *e
}

// ChangeKind says what a HeaderChange does.
type ChangeKind uint8

// The kinds of change.
const (
	SetHeader ChangeKind = iota
	AddHeader
	RemoveHeader
)

// HeaderChange is one step: later ones see what earlier ones did.
type HeaderChange struct {
	Kind  ChangeKind
	Name  string
	Value Template // of SetHeader and AddHeader
}

// Template is a value in parts, to be joined.
type Template []Expr

// Expr is plain text or a function of the request or response.
type Expr struct {
	// Func is "" for Text; "header" and "request_header" read the header named by
	// Text; "lower" and "upper" change their one argument; "default" gives Text
	// where its one argument is empty.
	Func string
	Text string
	Args []Expr
}

// RateLimit is a token bucket: Max at first, Fill more after each Interval.
type RateLimit struct {
	Max, Fill uint32
	Interval  time.Duration
	// Enabled and Enforced are percentages of the requests.
	Enabled, Enforced uint32
}

// CORS answers preflight requests of the Origins and marks answers for them.
type CORS struct {
	Origins                []StringMatch
	Credentials            bool
	Methods, Headers, Show []string // Show are the headers that scripts may read
	MaxAge                 uint32   // in seconds
	// Alone is true if preflight requests of other origins are answered, too,
	// without Access-Control-Allow-Origin; else they pass.
	Alone bool
}

// CSRF refuses requests that change something and come from elsewhere.
type CSRF struct {
	Enabled, Shadowed uint32 // percentages of the requests
	Origins           []StringMatch
}

// StringKind is the way of a StringMatch.
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
	// Terminal ends the list where this source gave a hash.
	Terminal bool
}

// HashCookie is read, and set where it is missing and TTL is not nil.
type HashCookie struct {
	Name, Path       string
	TTL              *time.Duration // 0 is a session's cookie
	Secure, HTTPOnly bool
	SameSite         string // "Strict", "Lax", "None" or ""
}
