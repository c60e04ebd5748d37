package ir

import "strings"

// IssuerAnswer is what is known about the endpoints of an OpenID provider.
type IssuerAnswer struct {
	// The endpoints are https URIs from the last usable discovery document. Authorization and Token are "" if
	// there was no such document. EndSession and JWKS may be "" in any case.
	Authorization, Token, EndSession, JWKS string
	// Fault says why there is no usable document. Hint says what to do, if that is known. Fault and Hint are "" if
	// there is a document, or if nothing is known yet.
	Fault, Hint string
}

// Known reports whether the endpoints are known.
func (a IssuerAnswer) Known() bool { return a.Token != "" }

// DiscoveryURL returns the address of an issuer's discovery document (OpenID Connect Discovery
// 1.0, section 4).
func DiscoveryURL(issuer string) string {
	return strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
}
