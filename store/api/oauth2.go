package api

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// OAuth2 requires that users sign in at an identity provider.
type OAuth2 struct {
	// ExtensionRef names the GatewayExtension of the identity provider.
	ExtensionRef *ExtensionRef `json:"extensionRef"`
}

// OAuth2Provider is an identity provider that users sign in at, by OAuth 2.0 or OpenID Connect.
//
// +kubebuilder:validation:XValidation:message="set issuerURI, or both authorizationEndpoint and tokenEndpoint",rule="has(self.issuerURI) || (has(self.authorizationEndpoint) && has(self.tokenEndpoint))"
type OAuth2Provider struct {
	// BackendRef is the Service or Backend of the identity provider. Envoy calls the token
	// endpoint through it.
	BackendRef BackendRef `json:"backendRef"`
	// IssuerURI is the issuer of an OpenID provider. Its discovery document names the endpoints
	// that are not set here.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https://([a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-zA-Z0-9\-._~!$&'()*+,;=:@%]*)*/?$`
	IssuerURI *string `json:"issuerURI,omitempty"`
	// AuthorizationEndpoint is where browsers are redirected to sign in.
	AuthorizationEndpoint *HTTPSURI `json:"authorizationEndpoint,omitempty"`
	// TokenEndpoint is the URL where Envoy exchanges codes for tokens. Envoy sends the request to
	// BackendRef, with the host and the path of this URL.
	TokenEndpoint *HTTPSURI `json:"tokenEndpoint,omitempty"`
	// EndSessionEndpoint is where browsers are redirected after a logout, so that the identity
	// provider ends its session too. It needs the scope openid.
	EndSessionEndpoint *HTTPSURI `json:"endSessionEndpoint,omitempty"`
	// RedirectURI is where the identity provider sends browsers back to. Its scheme and host may
	// be %REQ(x-forwarded-proto)% and %REQ(:authority)%.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:default="%REQ(x-forwarded-proto)%://%REQ(:authority)%/oauth2/redirect"
	RedirectURI *string `json:"redirectURI,omitempty"`
	// LogoutPath is the path that signs a user out.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:default="/logout"
	LogoutPath *string `json:"logoutPath,omitempty"`
	// ForwardAccessToken sends the access token to the backend, in header authorization.
	ForwardAccessToken *bool `json:"forwardAccessToken,omitempty"`
	// Scopes are requested from the identity provider; user when the list is empty.
	//
	// +kubebuilder:validation:MaxItems=64
	Scopes []OAuth2Scope `json:"scopes,omitempty"`
	// Credentials are those that the identity provider knows Envoy by.
	Credentials OAuth2Credentials `json:"credentials"`
	// Cookies are settings of the cookies that keep a user signed in.
	Cookies *OAuth2Cookies `json:"cookies,omitempty"`
	// DenyRedirect selects requests that are answered with 401 in place of a redirect.
	DenyRedirect *OAuth2DenyRedirect `json:"denyRedirect,omitempty"`
}

// HTTPSURI is an https URI.
//
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:Pattern=`^https://([a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-zA-Z0-9\-._~!$&'()*+,;=:@%]*)*/?(\?[a-zA-Z0-9\-._~!$&'()*+,;=:@%/?]*)?$`
type HTTPSURI = string

// OAuth2Scope is a scope of OAuth 2.0 (RFC 6749, section 3.3).
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[!#-\[\]-~]+$`
type OAuth2Scope = string

// OAuth2Credentials are the ID and the secret of a client that is registered at an identity
// provider.
type OAuth2Credentials struct {
	// ClientID is the client's name at the identity provider.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ClientID string `json:"clientID"`
	// ClientSecretRef names a Secret in the extension's namespace. Its entry client-secret is
	// the client's secret.
	ClientSecretRef OAuth2SecretRef `json:"clientSecretRef"`
}

// OAuth2SecretRef names a Secret in the same namespace.
type OAuth2SecretRef struct {
	// Name is the name of the Secret.
	Name gwv1.ObjectName `json:"name"`
}

// OAuth2Cookies are settings of the cookies that keep a user signed in.
type OAuth2Cookies struct {
	// Domain is the domain of the cookies: users are signed in at all of its hosts. Without it,
	// each host has cookies of its own.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Domain *string `json:"domain,omitempty"`
	// Names are names of cookies.
	Names *OAuth2CookieNames `json:"names,omitempty"`
	// SameSite is the attribute SameSite of the cookies.
	//
	// +kubebuilder:validation:Enum=Lax;Strict;None
	SameSite *string `json:"sameSite,omitempty"`
	// DisableAccessTokenSetCookie keeps the access token out of the cookies.
	DisableAccessTokenSetCookie *bool `json:"disableAccessTokenSetCookie,omitempty"`
	// DisableIDTokenSetCookie keeps the ID token out of the cookies.
	DisableIDTokenSetCookie *bool `json:"disableIDTokenSetCookie,omitempty"`
	// DisableRefreshTokenSetCookie keeps the refresh token out of the cookies: users sign in
	// again when the access token expires.
	DisableRefreshTokenSetCookie *bool `json:"disableRefreshTokenSetCookie,omitempty"`
}

// OAuth2CookieNames are names of cookies.
type OAuth2CookieNames struct {
	// AccessToken is the name of the cookie with the access token.
	AccessToken *CookieName `json:"accessToken,omitempty"`
	// IDToken is the name of the cookie with the ID token.
	IDToken *CookieName `json:"idToken,omitempty"`
}

// CookieName is the name of a cookie.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`
type CookieName = string

// OAuth2DenyRedirect selects requests that are not redirected.
type OAuth2DenyRedirect struct {
	// Headers select a request if at least one entry matches a header of the request.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Headers []OAuth2HeaderMatch `json:"headers,omitempty"`
}

// OAuth2HeaderMatch matches the value of a header.
type OAuth2HeaderMatch struct {
	// Type is Exact, or RegularExpression for the whole value in RE2's syntax.
	//
	// +kubebuilder:validation:Enum=Exact;RegularExpression
	// +kubebuilder:default=Exact
	Type *string `json:"type,omitempty"`
	// Name is the name of the header, in any case.
	Name HeaderName `json:"name"`
	// Value is the value or the regular expression.
	Value HeaderValue `json:"value"`
}
