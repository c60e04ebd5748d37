package explain

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// oauth2Words returns, as text, where oauth2 of the policies lets users sign in, or TurnedOff if a policy turns
// it off.
func oauth2Words(extras *ir.Extras) string {
	if extras.OAuth2 == nil {
		return TurnedOff
	}
	provider := extras.OAuth2.Extension.SignIn
	words := fmt.Sprintf("users sign in at %s, which sends them back to %s", origin(provider.Authorization), provider.RedirectPath)
	if len(provider.Deny) > 0 {
		words += "; some requests are answered with 401 in place of a redirect"
	}
	return words + "; " + provider.LogoutPath + " signs them out"
}

// origin returns the scheme and host of a URI. It returns uri if it cannot be parsed.
func origin(uri string) string {
	parsed, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	return parsed.Scheme + "://" + parsed.Host
}

// oauth2Gate returns what Envoy's OAuth2 filter does with a request. The gate is empty if the rule has no oauth2.
// Otherwise:
//
//   - Envoy redirects a request for the logout path.
//   - Envoy answers 401 to a request for the redirect path. If the request may continue a login, a text in
//     gate.unless says that Envoy may redirect instead.
//   - A request with the cookies of a signed-in user passes. A request with the cookie of a refresh token passes if
//     oauth2 uses refresh tokens. Only Envoy can verify these cookies: gate.unless has what Envoy does if they are
//     not valid.
//   - Envoy redirects any other request to sign in, or answers 401 if denyRedirect selects the request.
func oauth2Gate(rule *ir.Rule, r *request) gate {
	use := rule.Action.Extras.OrNone().OAuth2
	if use == nil {
		return gate{}
	}
	provider := use.Extension.SignIn
	by := partsOf(&rule.Action, ir.FieldOAuth2.PartKind())
	if r.path == provider.LogoutPath {
		added := ""
		if provider.EndSession != "" {
			added = "logout"
		}
		location, words := r.signInLocation(rule, logoutLocation(provider, r), added)
		return gate{status: http.StatusFound, location: location, http: true, why: "Envoy signs the user out, by " + by + words}
	}
	cookie := func(name string) bool { return r.headers.cookie(name) != "" }
	signedIn := cookie(provider.Cookies.HMAC) && cookie(provider.Cookies.Expires)
	refuse := gate{status: http.StatusUnauthorized, why: "Envoy refuses the request by " + by + ": "}
	switch {
	case r.path == provider.RedirectPath && !signedIn && !cookie(provider.Cookies.Nonce) && !r.headers.hasFlowCookie(provider.Cookies.Nonce):
		refuse.why += "it does not continue a login, as it has no cookie " + provider.Cookies.Nonce
		return refuse
	case r.path == provider.RedirectPath:
		refuse.why += "Envoy alone can verify the login that it continues"
		refuse.unless = []string{"oauth2: the login is valid, so that Envoy redirects to where it began (302)"}
		return refuse
	case signedIn:
		return gate{unless: []string{"oauth2: the cookies are not valid, or have expired: " + r.signInWords(provider)}}
	case !provider.Cookies.NoRefreshToken && cookie(provider.Cookies.RefreshToken):
		return gate{unless: []string{"oauth2: the identity provider does not accept the refresh token: " + r.signInWords(provider)}}
	case r.mayNotRedirect(provider) == takes:
		refuse.why += "the user has not signed in, and denyRedirect selects the request"
		return refuse
	}
	location, words := r.signInLocation(rule, provider.Authorization, "login")
	out := gate{status: http.StatusFound, location: location, http: true, why: "redirected to sign in, by " + by + words}
	if r.mayNotRedirect(provider) == may {
		out.unless = []string{"oauth2: denyRedirect selects the request (401)"}
	}
	return out
}

// signInLocation returns the Location header of a redirect by oauth2 to the URL to, after the changes of the rule and its
// policies. Envoy adds parameters to the URL, unless the parameter added is "": it is the word for what they are of. A
// Location that is changed has a placeholder for them, and one that is not changed has none of them. The result words says
// which of the two it is, as the end of a sentence. The filter oauth2 answers before policies change the headers of requests.
func (r *request) signInLocation(rule *ir.Rule, to, added string) (location, words string) {
	own := to
	if added != "" {
		endpoint, _, _ := strings.Cut(to, "?")
		own, words = endpoint+"?"+unknownParameters, "; Envoy adds the parameters of the "+added
	}
	if location = r.changedLocation(&rule.Action, r.headers, headerFields{locationName: {own}}); location == own {
		return to, words
	}
	return shown(location), "; the rule's settings change the Location"
}

// hasFlowCookie reports whether the headers have a cookie of a login that the browser has begun. The name of
// such a cookie begins with the given name and a dot.
func (f headerFields) hasFlowCookie(name string) bool {
	for _, line := range f["cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if strings.HasPrefix(strings.TrimLeft(pair, " "), name+".") {
				return true
			}
		}
	}
	return false
}

// signInWords returns, as text, what Envoy does with a request whose user must sign in.
func (r *request) signInWords(provider *ir.SignIn) string {
	switch r.mayNotRedirect(provider) {
	case takes:
		return "401, as denyRedirect selects the request"
	case may:
		return "redirected to sign in (302), or 401"
	}
	return "redirected to sign in (302)"
}

// mayNotRedirect returns whether denyRedirect selects the request, as one of these verdicts:
//   - takes: denyRedirect selects the request. Envoy answers 401 and does not redirect.
//   - may: this depends on a header value that is not known.
//   - misses: denyRedirect does not select the request.
func (r *request) mayNotRedirect(provider *ir.SignIn) (out verdict) {
	for _, want := range provider.Deny {
		one, _ := r.matchesHeader(want)
		out = max(out, one)
	}
	return out
}

// logoutLocation returns the URL to which Envoy redirects a user who has signed out.
func logoutLocation(provider *ir.SignIn, r *request) string {
	if provider.EndSession != "" {
		return provider.EndSession
	}
	return r.scheme + "://" + r.query.Host + "/"
}

// replaceToken replaces the client's Authorization header by the access token, if oauth2 forwards the token.
func replaceToken(_ *request, headers headerFields, extras *ir.Extras) {
	if extras.OAuth2 != nil && extras.OAuth2.Extension.SignIn.ForwardToken {
		headers.set("authorization", "Bearer "+unknownToken)
	}
}

// unlessAsked returns the field Outcome.Unless for a rule that answers an error only because nothing has requested
// the discovery document of an OpenID issuer (Respond.Unasked). The one text in the list says that under
// `gatefold serve`, which requests the document, users sign in. For other rules, unlessAsked returns nil.
func unlessAsked(respond *ir.Respond) []string {
	if respond.Unasked == "" {
		return nil
	}
	return []string{fmt.Sprintf("oauth2: the endpoints of %s are known only to `gatefold serve`, where users sign in instead", respond.Unasked)}
}
