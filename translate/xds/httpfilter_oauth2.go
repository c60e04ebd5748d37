package xds

import (
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	oauth2v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/oauth2/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatefold/gatefold/translate/ir"
)

// tokenTimeout is how long Envoy waits for the token endpoint. kgateway has the same limit.
const tokenTimeout = 15 * time.Second

const oauth2Name = "envoy.filters.http.oauth2"

// oauth2Filter returns the HTTP filter for the policy field oauth2.
func oauth2Filter() httpFilter {
	return httpFilter{name: oauth2Name, since: 1, chain: func() message { return &oauth2v3.OAuth2{} }, route: oauth2}
}

// oauth2 returns the per-route configuration (OAuth2PerRoute) that makes users sign in, or nil without the policy
// field oauth2. The configuration's field Config is always set: if it were not, Envoy would let all requests pass.
func oauth2(extras *ir.Extras) message {
	if extras.OAuth2 == nil {
		return nil
	}
	service := &extras.OAuth2.Extension.Service
	from := extras.OAuth2.Extension.SignIn
	to := &oauth2v3.OAuth2Config{
		TokenEndpoint: &corev3.HttpUri{
			Uri: from.Token, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: service.Cluster}, Timeout: durationpb.New(tokenTimeout),
		},
		AuthorizationEndpoint:       from.Authorization,
		EndSessionEndpoint:          from.EndSession,
		RedirectUri:                 from.RedirectURI,
		RedirectPathMatcher:         exactPath(from.RedirectPath),
		SignoutPath:                 exactPath(from.LogoutPath),
		ForwardBearerToken:          from.ForwardToken,
		PreserveAuthorizationHeader: !from.ForwardToken,
		AuthScopes:                  from.Scopes,
		Credentials: &oauth2v3.OAuth2Credentials{
			ClientId:       from.ClientID,
			TokenSecret:    sdsSecret(from.ClientSecretName()),
			TokenFormation: &oauth2v3.OAuth2Credentials_HmacSecret{HmacSecret: sdsSecret(from.CookieSecretName())},
			CookieDomain:   from.Cookies.Domain,
			CookieNames: &oauth2v3.OAuth2Credentials_CookieNames{
				BearerToken: from.Cookies.AccessToken, IdToken: from.Cookies.IDToken, RefreshToken: from.Cookies.RefreshToken,
				OauthHmac: from.Cookies.HMAC, OauthExpires: from.Cookies.Expires, OauthNonce: from.Cookies.Nonce, CodeVerifier: from.Cookies.CodeVerifier,
			},
		},
		DisableAccessTokenSetCookie:  from.Cookies.NoAccessToken,
		DisableIdTokenSetCookie:      from.Cookies.NoIDToken,
		DisableRefreshTokenSetCookie: from.Cookies.NoRefreshToken,
		CookieConfigs:                cookieConfigs(from.Cookies.SameSite),
		DenyRedirectMatcher:          headerMatchers(from.Deny),
	}
	return &oauth2v3.OAuth2PerRoute{Config: to}
}

func headerMatchers(from []ir.ValueMatch) (out []*routev3.HeaderMatcher) {
	for _, match := range from {
		out = append(out, headerMatch(match))
	}
	return out
}

func exactPath(path string) *matcherv3.PathMatcher {
	return &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: &matcherv3.StringMatcher{
		MatchPattern: &matcherv3.StringMatcher_Exact{Exact: path},
	}}}
}

// sdsSecret returns a reference to a secret that Envoy requests by SDS, on its ADS stream.
func sdsSecret(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: adsSource()}
}

// cookieConfigs returns the SameSite attribute for all cookies. It returns nil if sameSite is not
// "Strict", "Lax" or "None".
func cookieConfigs(sameSite string) *oauth2v3.CookieConfigs {
	value, known := map[string]oauth2v3.CookieConfig_SameSite{
		"Strict": oauth2v3.CookieConfig_STRICT, "Lax": oauth2v3.CookieConfig_LAX, "None": oauth2v3.CookieConfig_NONE,
	}[sameSite]
	if !known {
		return nil
	}
	one := &oauth2v3.CookieConfig{SameSite: value}
	return &oauth2v3.CookieConfigs{
		BearerTokenCookieConfig: one, OauthHmacCookieConfig: one, OauthExpiresCookieConfig: one, IdTokenCookieConfig: one,
		RefreshTokenCookieConfig: one, OauthNonceCookieConfig: one, CodeVerifierCookieConfig: one,
	}
}

// TextSecret returns the resource of a secret that is a text and not a certificate.
func TextSecret(name string, secret ir.Hidden) Resource {
	return newResource(SecretType, name, marshal(&tlsv3.Secret{
		Name: name, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inline([]byte(secret))}},
	}))
}

// signIn rejects what Envoy would reject in the field oauth2 of a GatewayExtension.
func (c *checker) signIn(from *ir.SignIn) {
	const at = "spec.oauth2."
	c.text(at+"credentials.clientID", from.ClientID)
	for i, match := range from.Deny {
		field := fmt.Sprintf("%sdenyRedirect.headers[%d]", at, i)
		c.headerName(field+".name", match.Name)
		c.value(field+".value", match)
	}
}
