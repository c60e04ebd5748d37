package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// never is the value of protection.off for a field whose protection cannot be turned off. It always returns false.
func never(*api.TrafficPolicySpec) bool { return false }

// oauth2In sets the namespace of references in the policy field oauth2 (see Field.inNamespace).
func oauth2In(spec *api.TrafficPolicySpec, namespace string) {
	spec.OAuth2 = &api.OAuth2{ExtensionRef: spec.OAuth2.ExtensionRef.In(namespace)}
}

// lowerOAuth2 converts the policy field oauth2 (see Field.lower).
func lowerOAuth2(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	extras.OAuth2 = &ir.OAuth2{ExtensionUse: extensionUse(ir.FieldOAuth2, from.OAuth2.ExtensionRef)}
	return nil
}

// Scopes of OAuth 2.0.
const (
	scopeOpenID  = "openid"
	scopeDefault = "user" // Envoy's default
)

// lowerSignIn converts the identity provider of a GatewayExtension. Each problem names a field of the extension.
// If there are problems, the extension must not be used.
func lowerSignIn(key manifest.Key, from *api.OAuth2Provider) (*ir.Extension, []manifest.Problem) {
	to := &ir.SignIn{
		Extension:     key,
		Authorization: api.Text(from.AuthorizationEndpoint), Token: api.Text(from.TokenEndpoint), EndSession: api.Text(from.EndSessionEndpoint),
		ClientID: from.Credentials.ClientID, RedirectURI: api.Text(from.RedirectURI), LogoutPath: api.Text(from.LogoutPath),
		ForwardToken: isTrue(from.ForwardAccessToken), Scopes: from.Scopes, Cookies: signInCookies(key, from.Cookies),
	}
	if len(to.Scopes) == 0 {
		to.Scopes = []string{scopeDefault}
	}
	if from.DenyRedirect != nil {
		to.Deny = headerMatches(from.DenyRedirect.Headers)
	}
	var problems []manifest.Problem
	reject := func(field, message, hint string) {
		problems = append(problems, manifest.Problem{
			Code: "UnsupportedValue", Severity: manifest.Error, Field: "spec.oauth2." + field, Message: message, Hint: hint,
		})
	}
	if path, fault := redirectPath(to.RedirectURI); fault != "" {
		reject("redirectURI", fault, "write SCHEME://HOST/PATH, such as %REQ(x-forwarded-proto)%://%REQ(:authority)%/oauth2/redirect")
	} else {
		to.RedirectPath = path
	}
	switch {
	case !plainPath.MatchString(to.LogoutPath) || hasDots(to.LogoutPath):
		reject("logoutPath", "the path has to begin with / and to be of plain characters, without %, query and fragment", "write a path such as /logout")
	case to.LogoutPath == to.RedirectPath:
		reject("logoutPath", "redirectURI has the same path", "write another path")
	}
	if to.EndSession != "" && !slices.Contains(to.Scopes, scopeOpenID) {
		reject("endSessionEndpoint", "Envoy accepts it with the scope openid alone", "add openid to scopes, or remove the field")
	}
	if names := cookieNames(&to.Cookies); len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) {
		reject("cookies.names", "two cookies have the same name", "give each a name of its own")
	}
	return &ir.Extension{SignIn: to}, problems
}

// NeededIssuer returns the URL of the issuer whose discovery document gatefold must request. It returns "" if
// the extension itself names both the authorization endpoint and the token endpoint.
func NeededIssuer(from *api.OAuth2Provider) string {
	if from.AuthorizationEndpoint != nil && from.TokenEndpoint != nil {
		return ""
	}
	return api.Text(from.IssuerURI)
}

// SetEndpoints sets those endpoints of an identity provider that the GatewayExtension does not name. The parameter
// found has the endpoints from the issuer's discovery document. The end-session endpoint is set only if the scope
// openid is used, because Envoy rejects this endpoint without that scope.
func SetEndpoints(provider *ir.SignIn, found ir.IssuerAnswer) {
	provider.Authorization, provider.Token = cmp.Or(provider.Authorization, found.Authorization), cmp.Or(provider.Token, found.Token)
	if provider.EndSession == "" && slices.Contains(provider.Scopes, scopeOpenID) {
		provider.EndSession = found.EndSession
	}
}

// plainPath matches a path of plain characters. If the path also has no segment "." or ".." (see hasDots), browsers
// and normalization do not change it, so that Envoy compares it as it is written.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$`)

// redirectURIs matches a redirect URI. Its scheme and host may be format commands, which Envoy replaces by the
// scheme and host of the request.
var redirectURIs = regexp.MustCompile(`^(?:https?|%REQ\((?:x-forwarded-proto|X-FORWARDED-PROTO|:scheme|:SCHEME)\)%)://` +
	`(?:%REQ\((?::authority|:AUTHORITY)\)%|[A-Za-z0-9.-]+(?::[0-9]{1,5})?)(/[^%?#]*)$`)

// redirectPath returns the path of a redirect URI. If the URI cannot be used, fault is the reason; otherwise fault
// is "".
func redirectPath(uri string) (path, fault string) {
	parts := redirectURIs.FindStringSubmatch(uri)
	switch {
	case parts == nil:
		return "", "it is no URI with a path and without a query, whose scheme and host are written out or those of the request"
	case !plainPath.MatchString(parts[1]) || hasDots(parts[1]):
		return "", "its path has to be of plain characters, without empty parts"
	}
	return parts[1], ""
}

// hasDots reports whether a path has a segment "." or "..", which normalization removes.
func hasDots(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "." || part == ".." })
}

// signInCookies returns the cookies of a GatewayExtension (key). Their default names end in a hash of the
// extension's namespace and name, as in kgateway, because several extensions can serve one host.
func signInCookies(key manifest.Key, from *api.OAuth2Cookies) ir.SignInCookies {
	sum := sha256.Sum256([]byte(key.Namespace + "/" + key.Name))
	named := func(prefix string) string { return prefix + "-" + hex.EncodeToString(sum[:8]) }
	to := ir.SignInCookies{
		AccessToken: named("AccessToken"), IDToken: named("IdToken"), RefreshToken: named("RefreshToken"), HMAC: named("OauthHMAC"),
		Expires: named("OauthExpires"), Nonce: named("OauthNonce"), CodeVerifier: named("OauthCodeVerifier"),
	}
	if from == nil {
		return to
	}
	to.Domain, to.SameSite = api.Text(from.Domain), api.Text(from.SameSite)
	to.NoAccessToken, to.NoIDToken, to.NoRefreshToken = isTrue(from.DisableAccessTokenSetCookie), isTrue(from.DisableIDTokenSetCookie), isTrue(from.DisableRefreshTokenSetCookie)
	if names := from.Names; names != nil {
		if names.AccessToken != nil {
			to.AccessToken = *names.AccessToken
		}
		if names.IDToken != nil {
			to.IDToken = *names.IDToken
		}
	}
	return to
}

// cookieNames returns the names of all cookies, for the check that they differ.
func cookieNames(c *ir.SignInCookies) []string {
	return []string{c.AccessToken, c.IDToken, c.RefreshToken, c.HMAC, c.Expires, c.Nonce, c.CodeVerifier}
}

// headerMatches converts conditions for headers.
func headerMatches(from []api.OAuth2HeaderMatch) (out []ir.ValueMatch) {
	for _, match := range from {
		out = append(out, ir.ValueMatch{
			Name: strings.ToLower(match.Name), Value: match.Value, Regex: api.Text(match.Type) == string(gwv1.HeaderMatchRegularExpression),
		})
	}
	return out
}

// ClientSecretEntry is the entry of a Secret with the client's secret. CookieSecretEntry is the entry with the
// secret of the cookies, which is optional.
const (
	ClientSecretEntry = "client-secret"
	CookieSecretEntry = "cookie-secret"
)

// ClientSecret returns the key of the Secret that the identity provider of a GatewayExtension names. The parameter
// key is the key of the GatewayExtension. The Secret is in the same namespace.
func ClientSecret(key manifest.Key, from *api.OAuth2Provider) manifest.Key {
	return manifest.Key{Kind: "Secret", Namespace: key.Namespace, Name: string(from.Credentials.ClientSecretRef.Name)}
}

// ReadClientSecret returns the client's secret in the data of a Secret, without surrounding blanks. The result fault
// says why the secret cannot be used; it is nil if the secret can be used. With a fault, the result secret is "".
// The fault contains no part of the secret.
func ReadClientSecret(data map[string][]byte) (secret ir.Hidden, fault *CredentialFault) {
	text, found := data[ClientSecretEntry]
	secret = ir.Hidden(strings.TrimSpace(string(text)))
	switch {
	case !found:
		return "", &CredentialFault{0, "it has no entry " + ClientSecretEntry, "write the client's secret into the entry"}
	case secret == "":
		return "", &CredentialFault{0, fmt.Sprintf("entry %s is empty", ClientSecretEntry), "write the client's secret into the entry"}
	case !isText(string(secret)):
		return "", &CredentialFault{0, fmt.Sprintf("entry %s has characters that are not printable ASCII", ClientSecretEntry), "write the client's secret as the identity provider shows it"}
	}
	return secret, nil
}

// CookieSecret returns the text from which the secret of the cookies is derived: the entry CookieSecretEntry in
// the data of a Secret, without surrounding blanks. If this entry is missing or empty, CookieSecret returns the
// client's secret (the parameter client).
func CookieSecret(data map[string][]byte, client ir.Hidden) ir.Hidden {
	if own := strings.TrimSpace(string(data[CookieSecretEntry])); own != "" {
		return ir.Hidden(own)
	}
	return client
}
