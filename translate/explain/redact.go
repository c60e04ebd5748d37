package explain

import (
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// redacted is shown in the place of a password, key or token of the question.
const redacted = "[redacted]"

// asked returns the credentials in a question: the texts that a rule compares with its own
// credentials.
func asked(rule *ir.Rule, q Query) (texts []string) {
	if rule == nil {
		return nil
	}
	r, extras := newRequest(q), rule.Action.Extras.OrNone()
	if extras.BasicAuth != nil {
		for _, value := range r.headers["authorization"] {
			texts = append(texts, value, strings.TrimPrefix(value, "Basic "))
		}
	}
	if extras.JWTAuth != nil {
		for _, p := range extras.JWTAuth.Extension.JWT.Providers {
			texts = append(texts, r.tokensAt(&p)...)
			texts = append(texts, rawParameterOf(r, p.Query))
		}
	}
	if extras.APIKeyAuth != nil {
		for _, source := range extras.APIKeyAuth.Sources {
			for _, key := range []string{r.headers.first(source.Header), parameterOf(r, source.Query), cookieOf(r, source.Cookie), rawParameterOf(r, source.Query)} {
				texts = append(texts, strings.TrimPrefix(key, "Bearer "))
			}
		}
	}
	if extras.OAuth2 != nil {
		cookies := &extras.OAuth2.Extension.SignIn.Cookies
		for _, name := range []string{cookies.AccessToken, cookies.IDToken, cookies.RefreshToken, cookies.HMAC, cookies.CodeVerifier} {
			texts = append(texts, cookieOf(r, name))
		}
	}
	return texts
}

// CredentialNames returns the headers, in lower case, and the query parameters that a rule compares
// with its credentials.
func CredentialNames(rule *ir.Rule) (headers, parameters []string) {
	extras := rule.Action.Extras.OrNone()
	if extras.BasicAuth != nil {
		headers = append(headers, "authorization")
	}
	if extras.JWTAuth != nil {
		for _, p := range extras.JWTAuth.Extension.JWT.Providers {
			headers, parameters = append(headers, p.Header), append(parameters, p.Query)
		}
	}
	if extras.APIKeyAuth != nil {
		for _, source := range extras.APIKeyAuth.Sources {
			headers, parameters = append(headers, source.Header), append(parameters, source.Query)
		}
	}
	for i, name := range headers {
		headers[i] = strings.ToLower(name)
	}
	return headers, parameters
}

// rawParameterOf returns the first value of a query parameter as it was sent.
func rawParameterOf(r *request, name string) string {
	for pair := range strings.SplitSeq(strings.TrimPrefix(r.search, "?"), "&") {
		if key, value, _ := strings.Cut(pair, "="); name != "" && decoded(key) == name {
			return value
		}
	}
	return ""
}

// redact removes the texts from every part of the report that repeats the question. It ignores
// empty texts.
func (r *Report) redact(texts []string) {
	hide := hiding(texts)
	r.Request.URL, r.Location = hide(r.Request.URL), hide(r.Location)
	r.Request.Headers = hideValues(r.Request.Headers, hide)
	for i := range r.Backends {
		if receives := r.Backends[i].Receives; receives != nil {
			receives.Path, receives.Headers = hide(receives.Path), hideValues(receives.Headers, hide)
		}
	}
}

// Hide returns a function that removes the credentials of a question from a text.
func Hide(rule *ir.Rule, q Query) func(text string) string { return hiding(asked(rule, q)) }

func hiding(texts []string) func(string) string {
	return func(text string) string {
		for _, one := range texts {
			if one != "" {
				text = strings.ReplaceAll(text, one, redacted)
			}
		}
		return text
	}
}

func hideValues(headers http.Header, hide func(string) string) http.Header {
	if headers == nil {
		return nil
	}
	out := http.Header{}
	for name, values := range headers {
		for _, value := range values {
			out[name] = append(out[name], hide(value))
		}
	}
	return out
}
