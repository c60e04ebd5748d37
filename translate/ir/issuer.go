package ir

import "strings"

// IssuerAnswer is the known configuration of an OpenID provider.
type IssuerAnswer struct {
	// The endpoints are those of the last discovery document that could be used, https URIs.
	// Authorization and Token are "" while there was none; EndSession and JWKS may be missing.
	Authorization, Token, EndSession, JWKS string
	// Fault says what came back while there was no such document, and Hint what to do; "" for
	// nothing.
	Fault, Hint string
}

// Known reports whether the endpoints are known.
func (a IssuerAnswer) Known() bool { return a.Token != "" }

// DiscoveryURL returns the address of an issuer's discovery document (OpenID Connect Discovery
// 1.0, section 4).
func DiscoveryURL(issuer string) string {
	return strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
}
