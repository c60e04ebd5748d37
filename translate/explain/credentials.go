package explain

import (
	"crypto/sha1" //nolint:gosec // htpasswd files that Envoy reads have nothing else
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// The texts that functions of this file return for a Report contain no password, hash or key.

// basicAuthWords returns, as text, what basicAuth of the policies requires, or TurnedOff if a policy turns it
// off.
func basicAuthWords(extras *ir.Extras) string {
	if extras.BasicAuth == nil {
		return TurnedOff
	}
	return fmt.Sprintf("a name and a password are asked for: %s", count(len(extras.BasicAuth.List), "user"))
}

// apiKeyAuthWords returns, as text, where apiKeyAuth of the policies expects a key, or TurnedOff if a policy
// turns it off.
func apiKeyAuthWords(extras *ir.Extras) string {
	auth := extras.APIKeyAuth
	if auth == nil {
		return TurnedOff
	}
	var places []string
	for _, source := range auth.Sources {
		places = append(places, placeWords(source))
	}
	return fmt.Sprintf("a key is required in %s: %s", strings.Join(places, ", else "), count(len(auth.List), "client"))
}

// placeWords returns, as text, where a client sends its key: a header, a query parameter or a cookie.
func placeWords(source ir.KeySource) string {
	switch {
	case source.Header != "":
		return "header " + source.Header
	case source.Query != "":
		return "query parameter " + source.Query
	}
	return "cookie " + source.Cookie
}

// count returns a number and a noun as text. The noun gets an "s" unless n is 1.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// basicAuthGate compares the password of a request as Envoy does. It answers 401 without a valid password. The
// gate is empty if the request passes.
func basicAuthGate(rule *ir.Rule, r *request) gate {
	auth := rule.Action.Extras.OrNone().BasicAuth
	if auth == nil {
		return gate{}
	}
	if _, why := userOf(r, auth); why != "" {
		return gate{status: http.StatusUnauthorized, why: "Envoy rejects the request by " + partsOf(&rule.Action, ir.FieldBasicAuth.PartKind()) + ": " + why}
	}
	return gate{}
}

// userOf returns the name of the user whose name and password the request has. If there is no such user, name
// is "", and why is the reason. Otherwise why is "".
func userOf(r *request, auth *ir.BasicAuth) (name, why string) {
	values := r.headers["authorization"]
	if len(values) == 0 || values[0] == "" {
		return "", "it has no header authorization"
	}
	text, found := strings.CutPrefix(values[0], "Basic ")
	if !found {
		return "", `header authorization does not begin with "Basic "`
	}
	for range 2 { // the padding may be missing
		text = strings.TrimSuffix(text, "=")
	}
	decoded, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", "what follows Basic is no base64"
	}
	name, password, found := strings.Cut(string(decoded), ":")
	if !found {
		return "", "the text in header authorization has no colon"
	}
	sum := sha1.Sum([]byte(password)) //nolint:gosec // see the import
	hash := ir.Hidden("{SHA}" + base64.StdEncoding.EncodeToString(sum[:]))
	for _, user := range auth.List {
		if user.Name == name && user.Secret == hash {
			return name, ""
		}
	}
	return "", "there is no such user, or the password is another"
}

// replacePassword removes the password from a request that basicAuth lets pass. It adds the header with the
// user's name.
func replacePassword(r *request, headers headerFields, extras *ir.Extras) {
	if extras.BasicAuth == nil {
		return
	}
	name, _ := userOf(r, extras.BasicAuth)
	headers.remove("authorization")
	headers.set(ir.UserHeader, name)
}

// apiKeyAuthGate compares the key of a request as Envoy does. It answers 401 without a valid key. The gate is
// empty if the request passes. apiKeyAuthGate also sets r.keyClient to the name of the client with the key.
func apiKeyAuthGate(rule *ir.Rule, r *request) gate {
	auth := rule.Action.Extras.OrNone().APIKeyAuth
	if auth == nil {
		return gate{}
	}
	key, source := keyOf(r, auth)
	r.keyClient = clientOf(auth, key)
	if r.keyClient != "" {
		return gate{}
	}
	why := "no client has the key in " + placeWords(source)
	if key == "" {
		why = "it has no key"
	}
	return gate{status: http.StatusUnauthorized, why: "Envoy rejects the request by " + partsOf(&rule.Action, ir.FieldAPIKeyAuth.PartKind()) + ": " + why}
}

// clientOf returns the name of the client with a key, "" if no client has it.
func clientOf(auth *ir.APIKeyAuth, key string) string {
	for _, client := range auth.List {
		if client.Secret == ir.Hidden(key) {
			return client.Name
		}
	}
	return ""
}

// keyOf returns the first key of a request, and the source in which it was found. Without a key it returns ""
// and the last source.
func keyOf(r *request, auth *ir.APIKeyAuth) (key string, at ir.KeySource) {
	for _, at = range auth.Sources {
		switch {
		case at.Header != "":
			key = strings.TrimPrefix(r.headers.first(at.Header), "Bearer ")
		case at.Query != "":
			key = parameterOf(r, at.Query)
		default:
			key = r.headers.cookie(at.Cookie)
		}
		if key != "" {
			return key, at
		}
	}
	return "", at
}

// parameterOf returns the first value of a query parameter, decoded. It returns "" without the parameter.
func parameterOf(r *request, name string) string {
	for pair := range strings.SplitSeq(strings.TrimPrefix(r.search, "?"), "&") {
		key, value, _ := strings.Cut(pair, "=")
		if decoded(key) == name {
			return decoded(value)
		}
	}
	return ""
}

// decoded decodes percent-encoding. It returns the text unchanged if the encoding is invalid.
func decoded(text string) string {
	if out, err := url.PathUnescape(text); err == nil {
		return out
	}
	return text
}

// cookie returns the value of a cookie, "" if the headers do not have the cookie.
func (f headerFields) cookie(name string) string {
	for _, line := range f["cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if key, value, _ := strings.Cut(strings.TrimLeft(pair, " "), "="); key == name {
				return strings.Trim(value, `"`)
			}
		}
	}
	return ""
}

// replaceKey removes the key from a request that apiKeyAuth lets pass, unless the key is forwarded. A key in a
// query parameter is not removed. If apiKeyAuth has a ClientHeader, replaceKey sets this header to the client's
// name.
func replaceKey(r *request, headers headerFields, extras *ir.Extras) {
	auth := extras.APIKeyAuth
	if auth == nil {
		return
	}
	if auth.ClientHeader != "" {
		headers.set(auth.ClientHeader, r.keyClient)
	}
	_, source := keyOf(r, auth)
	switch {
	case auth.Forward:
	case source.Header != "":
		headers.remove(source.Header)
	case source.Cookie != "":
		headers.dropCookie(source.Cookie)
	}
}

// dropCookie removes the cookie with this name from the header cookie, and joins the other cookies in one line.
// It removes the header if no cookie is left.
func (f headerFields) dropCookie(name string) {
	var kept []string
	for _, line := range f["cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if key, _, _ := strings.Cut(strings.TrimSpace(pair), "="); key != name {
				kept = append(kept, strings.TrimSpace(pair))
			}
		}
	}
	f.remove("cookie")
	if len(kept) > 0 {
		f.set("cookie", strings.Join(kept, "; "))
	}
}
