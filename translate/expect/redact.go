package expect

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// redacted replaces a password, key or token of a line.
const redacted = "[redacted]"

// minSecret is the length of the shortest credential that is replaced wherever texts repeat it. A shorter one
// could be a part of any text.
const minSecret = 6

// redaction removes the credentials of lines from the texts that are shown. Credentials are the values of some
// headers and query parameters: those that a rule of the View compares with credentials, and those with a name
// for credentials, such as cookie (see ir.NamesCredential).
type redaction struct {
	headers, parameters map[string]bool
}

// newRedaction returns the redaction for the rules of a View. A nil View has no rules.
func newRedaction(view *ir.View) *redaction {
	d := &redaction{headers: map[string]bool{}, parameters: map[string]bool{}}
	if view == nil {
		return d
	}
	known := map[*ir.Extras]bool{}
	for _, gateway := range view.Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				for rule := range host.Rules {
					if extras := rule.Action.Extras; extras != nil && !known[extras] {
						known[extras] = true
						d.addNames(explain.CredentialNames(rule))
					}
				}
			}
		}
	}
	return d
}

// addNames adds names of headers and query parameters with credentials.
func (d *redaction) addNames(headers, parameters []string) {
	for _, name := range headers {
		d.headers[name] = true
	}
	for _, name := range parameters {
		d.parameters[name] = true
	}
}

// isHeader reports whether the values of a header are credentials.
func (d *redaction) isHeader(name string) bool {
	name = strings.ToLower(name)
	return name != "" && name != "www-authenticate" && (d.headers[name] || ir.NamesCredential(name))
}

// isParameter reports whether the values of a query parameter are credentials.
func (d *redaction) isParameter(name string) bool {
	return name != "" && (d.parameters[name] || ir.NamesCredential(name))
}

// texts returns the credentials of a request, as written and as sent, the longest first. It leaves out
// credentials that are shorter than minSecret.
func (d *redaction) texts(r Request) (all []string) {
	for name, values := range r.Headers {
		if !d.isHeader(name) {
			continue
		}
		for _, value := range values {
			_, bare, _ := strings.Cut(value, " ") // without the scheme, such as Bearer
			all = append(all, value, strings.Trim(value, `"`), bare)
		}
	}
	_, query, _ := strings.Cut(r.Target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if d.isParameter(unescaped(name)) {
			all = append(all, value, unescaped(value))
		}
	}
	all = slices.DeleteFunc(all, func(text string) bool { return len(text) < minSecret })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// unescaped decodes the percent-encoding of a text. It returns the text unchanged if the encoding is invalid.
func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// hide returns a function that replaces the credentials of a request in a text by the constant redacted. The function
// does not replace credentials that are shorter than minSecret.
func (d *redaction) hide(r Request) func(string) string {
	texts := d.texts(r)
	return func(text string) string {
		for _, one := range texts {
			text = strings.ReplaceAll(text, one, redacted)
		}
		return text
	}
}

// url returns a URL in which the constant redacted replaces the credentials in query parameters. Credentials of any
// length are replaced.
func (d *redaction) url(text string) string {
	address, query, found := strings.Cut(text, "?")
	if !found {
		return text
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, _, valued := strings.Cut(pair, "="); valued && d.isParameter(unescaped(name)) {
			pairs[i] = name + "=" + redacted
		}
	}
	return address + "?" + strings.Join(pairs, "&")
}

// line returns the text of a line without credentials.
func (d *redaction) line(r Request) string {
	question, answer, _ := strings.Cut(r.Line, " -> ")
	words := fields(question)
	for i, word := range words {
		name, _, found := strings.Cut(word, ":")
		switch {
		case strings.Contains(word, "://"):
			words[i] = d.url(word)
		case found && i > 0 && d.isHeader(name) && r.Headers.Get(name) != "":
			words[i] = name + ":" + redacted
		}
	}
	details := strings.Split(answer, " | ")
	for i, detail := range details {
		kind, rest, _ := strings.Cut(strings.TrimSpace(detail), " ")
		if name, value, found := strings.Cut(rest, ": "); found && (kind == "request" || kind == "response") {
			details[i] = kind + " " + name + ": " + d.value(name, value)
			continue
		}
		details[i] = d.url(detail)
	}
	return d.hide(r)(strings.Join(words, " ") + " -> " + strings.Join(details, " | "))
}

// value returns the value of a header as it is shown: redacted if the header has credentials. The values "-"
// (absent) and "" are not replaced.
func (d *redaction) value(name, value string) string {
	if value == "-" || value == "" || !d.isHeader(name) {
		return value
	}
	return redacted
}

// result sets URL, Line and Want of c, and removes the credentials of the line from these and all other texts of c,
// except from c.Request. The parameter more is a function that removes further credentials from a text.
func (d *redaction) result(c *Result, more func(string) string) {
	own := d.hide(c.Request)
	hide := func(text string) string { return more(own(d.url(text))) }
	c.Got = hide(c.Got)
	for i := range c.Differences {
		diff := &c.Differences[i]
		if _, name, isHeader := strings.Cut(diff.Of, " "); isHeader {
			diff.Want, diff.Got = d.value(name, diff.Want), d.value(name, diff.Got)
		}
		diff.Want, diff.Got = hide(diff.Want), hide(diff.Got)
	}
	for i := range c.Doubts {
		c.Doubts[i].Why = hide(c.Doubts[i].Why)
	}
	c.URL, c.Line = hide(c.Request.url()), more(d.line(c.Request))
	c.Want = hide(c.Request.outcome())
}
