package ir

import "github.com/gatefold/gatefold/store/manifest"

// OAuth2 requires users to sign in at an identity provider. The field SignIn of the Extension configures the
// provider.
type OAuth2 struct {
	ExtensionUse
}

// SignIn configures how users sign in at an identity provider (OAuth 2.0, OpenID Connect). The Service of the
// Extension says how Envoy reaches the provider's token endpoint.
type SignIn struct {
	// Extension is the key of the GatewayExtension. It is part of the names of the xDS secrets (ClientSecretName,
	// CookieSecretName). The default names of the cookies end in its hash.
	Extension manifest.Key
	// The endpoints are https URIs. Authorization and Token are "" only while they are unknown: then no route has
	// the SignIn. EndSession is "" if there is none.
	Authorization, Token, EndSession string
	ClientID                         string
	// RedirectURI is where the identity provider sends browsers back to, with Envoy's formatters. RedirectPath is
	// its path. LogoutPath is the path that signs a user out.
	RedirectURI, RedirectPath, LogoutPath string
	// ForwardToken is true if the backend receives the access token.
	ForwardToken bool
	// Scopes has at least one element.
	Scopes  []string
	Cookies SignInCookies
	// Deny selects requests that are answered with 401 instead of a redirect. One matching condition is enough.
	Deny []ValueMatch
}

// SignInCookies are the cookies that keep a user signed in.
type SignInCookies struct {
	Domain   string // "" means the host of the request
	SameSite string // "Strict", "Lax", "None" or ""
	// The names of the cookies, none of which is empty.
	AccessToken, IDToken, RefreshToken, HMAC, Expires, Nonce, CodeVerifier string
	// The tokens for which no cookie is set.
	NoAccessToken, NoIDToken, NoRefreshToken bool
}

// ClientSecretName returns the xDS name of the client's secret.
func (s *SignIn) ClientSecretName() string {
	return "GatewayExtension/" + s.Extension.Namespace + "/" + s.Extension.Name + "/client-secret"
}

// CookieSecretName returns the xDS name of the secret that signs and encrypts cookies.
func (s *SignIn) CookieSecretName() string {
	return "GatewayExtension/" + s.Extension.Namespace + "/" + s.Extension.Name + "/cookie-secret"
}
