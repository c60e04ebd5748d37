package ir

import (
	"slices"
	"strings"
)

// Identity is a request header that a filter sets to tell the backend who sent the request. If a client's request
// already has such a header, the header is forged. So virtual hosts remove it
// (docs/design/policies.md#identity-headers-are-removed-on-every-route-of-a-host).
type Identity struct {
	// Name is in lower case.
	Name string
	// Field is the path of the policy's field that sets the header.
	Field string
}

// Identities returns the identity headers that the filters of the extras set, except UserHeader, which Envoy always
// removes from clients' requests. It returns nil if e is nil. A new policy field that sets an identity header must
// be added to this function.
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

// Identities returns the identity headers that are set by the filters of an action. If the route has its own
// ExternalAuth, only this ExternalAuth counts, and not the ExtAuth of policies.
func (a *Action) Identities() []Identity {
	if a.ExternalAuth == nil {
		return a.Extras.Identities()
	}
	extras := a.Extras.OrNone()
	extras.ExtAuth = a.ExternalAuth
	return extras.Identities()
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

// IdentityNames returns the names of the headers that Identities returns, sorted and unique.
func (e *Extras) IdentityNames() []string {
	var out []string
	for _, identity := range e.Identities() {
		out = append(out, identity.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// clientHeaders returns the headers that clients usually send, in lower case. They are never identity headers,
// because identity headers are removed from the requests to all routes of a host. A name that ends in "-" means
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
