package ir

import (
	"slices"
	"strings"
)

// Identity is a request header that a filter sets to tell the backend who sent the request. If a client's request
// already has such a header, the header is forged. So the routes that could pass it on remove it
// (docs/design/policies.md#identity-headers-are-removed-where-a-backend-could-believe-them).
type Identity struct {
	// Name is in lower case.
	Name string
	// Field is the path of the policy's field that sets the header.
	Field string
}

// Identities returns the identity headers that the filters of the extras set, except UserHeader, which Envoy always
// removes from clients' requests. It returns nil if e is nil. A new policy field that sets an identity header must
// be added to this function, and to policy.IdentityHeaders.
func (e *Extras) Identities() []Identity {
	if e == nil {
		return nil
	}
	var out []Identity
	if e.APIKeyAuth != nil && e.APIKeyAuth.ClientHeader != "" {
		out = append(out, Identity{e.APIKeyAuth.ClientHeader, FieldAPIKeyAuth.Path() + ".clientIdHeader"})
	}
	return append(append(out, e.ExtAuth.identities()...), e.JWTAuth.identities()...)
}

// identities returns the headers in which jwtAuth passes claims to the backend, without headers that clients usually
// send (IsClientHeader). In the returned names, "_" is replaced by "-". identities returns nil if a is nil or its
// Extension is not resolved.
func (a *JWTAuth) identities() (out []Identity) {
	if a == nil || a.Extension == nil || a.Extension.JWT == nil {
		return nil
	}
	for _, p := range a.Extension.JWT.Providers {
		for _, claim := range p.Claims {
			if !IsClientHeader(claim.Header) {
				out = append(out, Identity{strings.ReplaceAll(claim.Header, "_", "-"), FieldJWTAuth.Path() + ".extensionRef"})
			}
		}
	}
	return out
}

// identities returns the headers that an HTTP service for authorization sets in requests to the backend, without
// these headers:
//   - headers that clients usually send (IsClientHeader);
//   - headers of the client's request that Envoy sends to the service (AuthService.Receives).
//
// In the returned names, "_" is replaced by "-". identities returns nil for a gRPC service, and if a is nil or its
// Extension is not resolved.
func (a *ExtAuth) identities() (out []Identity) {
	if a == nil || a.Extension == nil || a.Extension.Auth.HTTP == nil {
		return nil
	}
	for _, name := range a.Extension.Auth.HTTP.ToBackend {
		if !IsClientHeader(name) && !a.Extension.Auth.Receives(name) {
			out = append(out, Identity{strings.ReplaceAll(name, "_", "-"), FieldExtAuth.Path() + ".extensionRef"})
		}
	}
	return out
}

// IdentityName returns the name under which a header counts as an identity header: in lower case, with "-" for "_".
// ok is false if clients send the header themselves (IsClientHeader), if Envoy always removes it (UserHeader), or if
// the name is not legal (IsToken): no request has such a header, and Envoy rejects a route that removes it.
func IdentityName(header string) (name string, ok bool) {
	name = strings.ReplaceAll(strings.ToLower(header), "_", "-")
	return name, IsToken(header) && name != UserHeader && !IsClientHeader(name)
}

// IsToken reports whether a text may be a method or the name of a header (RFC 9110, section 5.6.2).
func IsToken(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// CredentialHeader is a request header that a filter reads as a credential, in lower case, with the policy field of
// the filter.
type CredentialHeader struct {
	Field Field
	Name  string
}

// CredentialHeaders returns the request headers that the filters of an action read as a credential, or send to a
// service for authorization: headers of keys and tokens, and headersToForward.
func (a *Action) CredentialHeaders() (out []CredentialHeader) {
	add := func(field Field, name string) {
		if name != "" {
			out = append(out, CredentialHeader{field, strings.ToLower(name)})
		}
	}
	if auth := a.AuthInForce(); auth != nil && auth.Extension != nil {
		for _, name := range auth.Extension.Auth.Headers {
			add(FieldExtAuth, name)
		}
	}
	extras := a.Extras.OrNone()
	if extras.APIKeyAuth != nil {
		for _, source := range extras.APIKeyAuth.Sources {
			add(FieldAPIKeyAuth, source.Header)
		}
	}
	if extras.JWTAuth != nil && extras.JWTAuth.Extension != nil && extras.JWTAuth.Extension.JWT != nil {
		for _, p := range extras.JWTAuth.Extension.JWT.Providers {
			add(FieldJWTAuth, p.Header)
		}
	}
	return out
}

// clientHeaders returns the headers that clients usually send, in lower case. They are never identity headers,
// because identity headers are removed from the requests to many routes. A name that ends in "-" means
// all names that begin with it.
func clientHeaders() []string {
	return []string{
		"accept", "accept-", "access-control-", "age", "authorization", "cache-control", "content-", "cookie", "date", "dnt", "etag", "forwarded", "from",
		"host", "idempotency-key", "if-", "last-modified", "link", "location", "max-forwards", "origin", "pragma", "prefer", "priority", "proxy-", "range",
		"referer", "save-data", "sec-", "set-cookie", "signature", "signature-input", "upgrade-", "user-agent", "vary", "via", "warning", "www-authenticate",
		"grpc-", "x-http-method-override", "x-requested-with", "x-csrf-token", "x-xsrf-token", "api-key", "x-api-key",
		"traceparent", "tracestate", "baggage", "b3", "x-b3-", "uber-trace-id", "x-request-id", "x-correlation-id", "x-client-trace-id", "x-amzn-trace-id",
		"x-forwarded-", "x-real-ip", "x-original-", "x-rewrite-url",
	}
}

// IsClientHeader reports whether a header is one that clients usually send. The parameter name is the header's
// name, in lower case. A "_" in the name counts as "-".
func IsClientHeader(name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	return slices.ContainsFunc(clientHeaders(), func(known string) bool {
		return name == known || strings.HasSuffix(known, "-") && strings.HasPrefix(name, known)
	})
}

// Forged returns the identity headers that the rule removes from clients' requests, besides those of its virtual
// host (HostView.Forged).
func (r *Rule) Forged() []string {
	if r == nil || r.Action.Extras == nil {
		return nil
	}
	return r.Action.Extras.Forged
}
