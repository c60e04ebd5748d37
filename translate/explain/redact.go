package explain

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// redacted replaces a password, key or token of the query.
const redacted = "[redacted]"

// asked returns the credentials in a query: the values that the rule's authentication policies read. It returns
// nil if rule is nil. Some of the texts may be "".
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
			for _, key := range []string{r.headers.first(source.Header), parameterOf(r, source.Query), r.headers.cookie(source.Cookie), rawParameterOf(r, source.Query)} {
				texts = append(texts, strings.TrimPrefix(key, "Bearer "))
			}
		}
	}
	if extras.OAuth2 != nil {
		cookies := &extras.OAuth2.Extension.SignIn.Cookies
		for _, name := range []string{cookies.AccessToken, cookies.IDToken, cookies.RefreshToken, cookies.HMAC, cookies.CodeVerifier} {
			texts = append(texts, r.headers.cookie(name))
		}
	}
	return texts
}

// credentials returns the results of the function asked: for the rule that answers, and for the rules in Considered
// and Behind.
func (a *Answer) credentials(q Query) (texts []string) {
	texts = asked(a.Rule, q)
	for _, miss := range a.Considered {
		texts = append(texts, asked(miss.Rule, q)...)
	}
	for _, rule := range a.Behind {
		texts = append(texts, asked(rule, q)...)
	}
	return texts
}

// CredentialNames returns the names of headers, in lower case, and of query parameters that may have
// credentials for a rule. Names of cookies are not in the result. Some of the names may be "".
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

// rawParameterOf returns the first value of a query parameter, without decoding it. It returns "" without the
// parameter.
func rawParameterOf(r *request, name string) string {
	for pair := range strings.SplitSeq(strings.TrimPrefix(r.search, "?"), "&") {
		if key, value, _ := strings.Cut(pair, "="); name != "" && decoded(key) == name {
			return value
		}
	}
	return ""
}

// redact replaces the texts by the constant redacted, in all fields of the report that may repeat the query: the
// request, Location, the sentences (Reason, Caveats, Suggestions and the reasons of near misses), and the path and
// headers that backends receive. It ignores empty texts.
func (r *Report) redact(texts []string) {
	hide := hiding(texts)
	r.Request.URL, r.Location = hide(r.Request.URL), hide(r.Location)
	r.Request.Headers = hideValues(r.Request.Headers, hide)
	sentence := hidingInSentences(texts)
	r.Reason = sentence(r.Reason)
	for _, sentences := range [][]string{r.Caveats, r.Suggestions} {
		for i := range sentences {
			sentences[i] = sentence(sentences[i])
		}
	}
	for i := range r.NearMisses {
		r.NearMisses[i].Reason = sentence(r.NearMisses[i].Reason)
	}
	for i := range r.Backends {
		if receives := r.Backends[i].Receives; receives != nil {
			receives.Path, receives.Headers = hide(receives.Path), hideValues(receives.Headers, hide)
		}
	}
}

// Hide returns a function that replaces the credentials of a query in a text by "[redacted]".
func Hide(rule *ir.Rule, q Query) func(text string) string { return hiding(asked(rule, q)) }

// hiding returns a function that replaces each of the texts, where they occur in its argument, by the constant
// redacted. The function ignores empty texts. Where two of the texts begin at the same byte, it replaces the
// longer one.
func hiding(texts []string) func(string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(one string) bool { return one == "" })
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, one := range texts {
		pairs = append(pairs, one, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}

// shortCredential is the number of bytes below which a credential may also be a part of a word.
const shortCredential = 8

// hidingInSentences returns a function that replaces each of the texts, where they occur in a sentence of the
// report, by the constant redacted. A text shorter than shortCredential is only replaced between quotation marks,
// so that words remain readable. Between quotation marks, the function also finds a text that is escaped.
func hidingInSentences(texts []string) func(string) string {
	var long, all []string
	for _, one := range texts {
		quoted := strconv.Quote(one)
		all = append(all, one, quoted[1:len(quoted)-1])
		if len(one) >= shortCredential {
			long = append(long, one)
		}
	}
	everywhere, inQuotes := hiding(long), hiding(all)
	quotation := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	return func(sentence string) string {
		return quotation.ReplaceAllStringFunc(everywhere(sentence), inQuotes)
	}
}

// hideValues returns a copy of the headers in which each value is the result of the function hide. It returns nil
// if headers is nil.
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
