package ir

import "github.com/gatefold/gatefold/store/manifest"

// OAuth2 makes users sign in at an identity provider, the SignIn of its Extension.
type OAuth2 struct {
	ExtensionUse
}

// SignIn is how users sign in at an identity provider (OAuth 2.0, OpenID Connect). Envoy calls the
// token endpoint by the Extension's Service.
type SignIn struct {
	// Extension is the GatewayExtension: it names the secrets on the wire (ClientSecretName,
	// CookieSecretName) and the cookies.
	Extension manifest.Key
	// The endpoints are https URIs; EndSession is "" if there is none.
	Authorization, Token, EndSession string
	ClientID                         string
	// RedirectURI is where browsers are sent back to, with Envoy's formatters. RedirectPath is
	// its path, and LogoutPath the one that signs a user out.
	RedirectURI, RedirectPath, LogoutPath string
	// ForwardToken sends the access token to the backend.
	ForwardToken bool
	// Scopes are never empty.
	Scopes  []string
	Cookies SignInCookies
	// Deny selects requests that are answered with 401 in place of a redirect: one matches.
	Deny []ValueMatch
}

// SignInCookies are the cookies that keep a user signed in.
type SignInCookies struct {
	Domain   string // "" for the host of the request
	SameSite string // "Strict", "Lax", "None" or ""
	// The names are never empty.
	AccessToken, IDToken, RefreshToken, HMAC, Expires, Nonce, CodeVerifier string
	// The tokens that are kept out of cookies.
	NoAccessToken, NoIDToken, NoRefreshToken bool
}

// ClientSecretName names the client's secret in xDS.
func (s *SignIn) ClientSecretName() string {
	return "GatewayExtension/" + s.Extension.Namespace + "/" + s.Extension.Name + "/client-secret"
}

// CookieSecretName returns the name in xDS of the secret that signs and encrypts cookies.
func (s *SignIn) CookieSecretName() string {
	return "GatewayExtension/" + s.Extension.Namespace + "/" + s.Extension.Name + "/cookie-secret"
}
