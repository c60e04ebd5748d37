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

// redacted replaces a password, key or token.
const redacted = "[redacted]"

// shortCredential is the length in bytes from which Hide replaces a credential everywhere in a sentence. Hide
// replaces a shorter credential only between quotation marks, because elsewhere it may be a part of a word.
const shortCredential = 6

// Redaction removes the credentials of requests from texts that are shown. Credentials are the values of two kinds
// of headers and query parameters. The first kind are those in which a policy of a rule expects a credential
// (AddRule). The second kind are those with a name that stands for credentials, such as cookie (see
// ir.NamesCredential).
type Redaction struct {
	headers, parameters map[string]bool
}

// NewRedaction returns a Redaction that knows no rule.
func NewRedaction() *Redaction {
	return &Redaction{headers: map[string]bool{}, parameters: map[string]bool{}}
}

// AddRule adds the headers and query parameters in which the rule's policies expect a credential, such as an API
// key or a JWT. If the parameter rule is nil, AddRule adds nothing.
func (d *Redaction) AddRule(rule *ir.Rule) {
	if rule == nil {
		return
	}
	extras := rule.Action.Extras.OrNone()
	if extras.JWTAuth != nil {
		for _, p := range extras.JWTAuth.Extension.JWT.Providers {
			d.add(p.Header, p.Query)
		}
	}
	if extras.APIKeyAuth != nil {
		for _, source := range extras.APIKeyAuth.Sources {
			d.add(source.Header, source.Query)
		}
	}
}

// add adds the names of a header and of a query parameter. A name may be "".
func (d *Redaction) add(header, parameter string) {
	d.headers[strings.ToLower(header)], d.parameters[parameter] = true, true
}

// IsHeader reports whether the values of a header are credentials.
func (d *Redaction) IsHeader(name string) bool {
	name = strings.ToLower(name)
	return name != "" && name != "www-authenticate" && (d.headers[name] || ir.NamesCredential(name))
}

// isParameter reports whether the values of a query parameter are credentials.
func (d *Redaction) isParameter(name string) bool {
	return name != "" && (d.parameters[name] || ir.NamesCredential(name))
}

// URL returns a URL, or its path and query, in which the constant redacted replaces the credentials in query
// parameters.
func (d *Redaction) URL(text string) string {
	address, query, found := strings.Cut(text, "?")
	if !found {
		return text
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); value != "" && d.isParameter(decoded(name)) {
			pairs[i] = name + "=" + redacted
		}
	}
	return address + "?" + strings.Join(pairs, "&")
}

// Value returns the value of a header as it is shown: redacted if the header has credentials. An empty value, and one
// with a placeholder for an unknown part, is not replaced.
func (d *Redaction) Value(name, value string) string {
	if value == "" || HasPlaceholder(value) || !d.IsHeader(name) {
		return value
	}
	return redacted
}

// values returns a copy of the headers without credentials. It replaces each value by the result of Value. Then
// the function hide replaces the credentials in the value, because a header may have a copy of another header's
// credential. values returns nil if headers is nil.
func (d *Redaction) values(headers http.Header, hide func(string) string) http.Header {
	out := headers.Clone()
	for name, values := range out {
		for i := range values {
			values[i] = hide(d.Value(name, values[i]))
		}
	}
	return out
}

// credentials returns the credentials of a request, in each form in which a text may repeat them: header values with
// and without the scheme (such as Bearer) or quotation marks, and query parameters with and without URL encoding. The
// parameter target is the request's path and query.
func (d *Redaction) credentials(headers http.Header, target string) (all []string) {
	for name, values := range headers {
		if !d.IsHeader(name) {
			continue
		}
		for _, value := range values {
			_, bare, _ := strings.Cut(value, " ") // without the scheme, such as Bearer
			all = append(all, value, strings.Trim(value, `"`), bare)
			if strings.EqualFold(name, "cookie") {
				for pair := range strings.SplitSeq(value, ";") {
					_, cookie, _ := strings.Cut(pair, "=")
					all = append(all, cookie, strings.Trim(cookie, `"`))
				}
			}
		}
	}
	_, query, _ := strings.Cut(target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); d.isParameter(decoded(name)) {
			all = append(all, value, decoded(value))
		}
	}
	return all
}

// Hide returns a function that replaces the credentials of a request in a sentence by the constant redacted. A short
// credential is only replaced between quotation marks, so that words remain readable. Between quotation marks, a
// credential may be escaped.
func (d *Redaction) Hide(headers http.Header, target string) func(sentence string) string {
	var long, all []string
	for _, one := range d.credentials(headers, target) {
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

// hiding returns a function that replaces the given texts in its argument by the constant redacted. It ignores empty
// texts. If two of the texts begin at the same byte, the longer one is replaced. The function leaves the constant
// redacted and the placeholders for unknown values (see placeholders) in its argument unchanged, even if one of the
// texts occurs in them.
func hiding(texts []string) func(string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(one string) bool { return one == "" })
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, kept := range append(placeholders(), redacted) {
		pairs = append(pairs, kept, kept)
	}
	for _, one := range texts {
		pairs = append(pairs, one, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}

// redaction returns the Redaction for the rule that answers and the rules that nearly matched.
func (a *Answer) redaction() *Redaction {
	d := NewRedaction()
	d.AddRule(a.Rule)
	for _, miss := range a.Considered {
		d.AddRule(miss.Rule)
	}
	for _, rule := range a.Behind {
		d.AddRule(rule)
	}
	return d
}

// redact removes the credentials of the query from all fields of the report that may repeat the query: the request,
// Location, the sentences (Reason, Caveats, Suggestions and the reasons of near misses), and the path and headers
// that backends receive.
func (r *Report) redact(d *Redaction, q Query) {
	hide := d.Hide(q.Headers, q.Path)
	link := func(url string) string { return hide(d.URL(url)) }
	r.Request.URL, r.Location, r.Reason = link(r.Request.URL), link(r.Location), hide(r.Reason)
	r.Request.Headers = d.values(r.Request.Headers, hide)
	for i := range r.Caveats {
		r.Caveats[i] = hide(r.Caveats[i])
	}
	for i := range r.Suggestions {
		r.Suggestions[i] = link(r.Suggestions[i])
	}
	for i := range r.NearMisses {
		r.NearMisses[i].Reason = hide(r.NearMisses[i].Reason)
	}
	for i := range r.Backends {
		if receives := r.Backends[i].Receives; receives != nil {
			receives.Path, receives.Headers = link(receives.Path), d.values(receives.Headers, hide)
		}
	}
}
