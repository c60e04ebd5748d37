package importer

import (
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/counted"
)

// redirect is a middleware that may answer with a redirect: to another scheme, or for URLs that match an
// expression.
type redirect struct {
	fields   map[string]any // a RequestRedirect, for a redirect by scheme
	onlyFrom string         // the scheme that is redirected, for a redirect by scheme

	expression  *regexp.Regexp // nil for a redirect by scheme
	replacement string
	code        int64
}

// site identifies where requests arrive: the port of a listener, with or without TLS, and a host. The host ""
// stands for any host.
type site struct {
	tls  bool
	port int64
	host string
}

// begin returns the text with which the URLs of all requests to a site begin, such as https://example.com/. It
// returns "" if the site is for a wildcard or for any host.
func (s site) begin() string {
	if s.host == "" || strings.Contains(s.host, "*") {
		return ""
	}
	authority := s.host
	if s.port != map[bool]int64{true: 443, false: 80}[s.tls] {
		authority += ":" + strconv.FormatInt(s.port, 10)
	}
	return s.scheme() + "://" + authority + "/"
}

// scheme returns the scheme of the site's requests.
func (s site) scheme() string {
	if s.tls {
		return "https"
	}
	return "http"
}

// redirectAt returns the redirect that every request to a site (a listener with one host) gets, as the fields of a
// RequestRedirect. If no request is redirected, fields is nil and certain is true. fields is nil and certain is
// false in two cases: only some requests may be redirected, or gatefold cannot express the redirect.
func (e *effect) redirectAt(s site) (fields map[string]any, certain bool) {
	for _, r := range e.redirects {
		if r.expression == nil {
			if r.onlyFrom == s.scheme() {
				return r.fields, true
			}
			continue
		}
		if fields, certain = r.at(s.begin()); fields != nil || !certain {
			return fields, certain
		}
	}
	return nil, true
}

// tailMark is a character that stands for the unknown rest of a URL while a regular expression is applied to a
// URL.
const tailMark = "\ue000"

// at returns the redirect that all URLs with the same beginning get, as the fields of a RequestRedirect. The
// parameter begin is this beginning (see site.begin). If fields is nil and certain is true, none of these URLs is
// redirected. certain is false if begin is "", if the rest of the URL decides, or if gatefold cannot express the
// regular expression or the target.
func (r *redirect) at(begin string) (fields map[string]any, certain bool) {
	form, ok := shapeOf(r.expression.String())
	if begin == "" || !ok || form.beyond(begin) {
		return nil, false
	}
	found := r.expression.FindStringSubmatchIndex(begin + tailMark)
	switch {
	case found == nil:
		return nil, strings.HasPrefix(r.expression.String(), "^")
	case found[0] != 0 || form.needs && found[2*form.tail] >= len(begin):
		return nil, false
	}
	target, keeps := strings.CutSuffix(r.expression.ReplaceAllString(begin+tailMark, r.replacement), tailMark)
	if strings.Contains(target, tailMark) {
		return nil, false
	}
	if keeps && target == begin {
		return nil, true // Traefik does not redirect to the same URL
	}
	return r.to(target, keeps)
}

// to returns the redirect to the URL target, as the fields of a RequestRedirect. If keeps is true, the redirect
// keeps the path and query of the request. certain is false, and fields is nil, if gatefold cannot express the
// target.
func (r *redirect) to(target string, keeps bool) (fields map[string]any, certain bool) {
	to, err := url.Parse(target)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || len(validation.IsDNS1123Subdomain(to.Hostname())) > 0 || to.User != nil ||
		to.RawQuery != "" || to.Fragment != "" || keeps && to.EscapedPath() != "/" || !keeps && to.Path != "" && !plainPath.MatchString(to.EscapedPath()) {
		return nil, false
	}
	port := map[string]int64{"http": 80, "https": 443}[to.Scheme]
	if to.Port() != "" {
		if port, _ = number(to.Port()); port < 1 || port > 65535 {
			return nil, false
		}
	}
	fields = map[string]any{"scheme": to.Scheme, "hostname": to.Hostname(), "port": port, "statusCode": r.code}
	if !keeps {
		path := to.EscapedPath()
		if path == "" {
			path = "/"
		}
		fields["path"] = map[string]any{"type": "ReplaceFullPath", "replaceFullPath": path}
	}
	return fields, true
}

// shape describes a regular expression for URLs that ends with a group (.*) or (.+). This last group matches
// the rest of a URL, whatever the rest is.
type shape struct {
	before [][]letter // what may come before the last group: one of these sequences
	tail   int        // the number of the last group
	needs  bool       // true if the last group is (.+), false if it is (.*)
}

// letter is a test for one character of a text: it reports whether the character is allowed at this position.
type letter func(rune) bool

// maxShapes is the maximum number of different texts that a regular expression may match before its last group
// (see shape).
const maxShapes = 256

// shapeOf analyses a regular expression for URLs that ends with a group (.*) or (.+). ok is false in these cases:
//   - The expression is invalid, or does not end with such a group.
//   - Nothing comes before the group, or the texts that may come before it cannot be listed (see the function
//     joined).
func shapeOf(expression string) (s shape, ok bool) {
	parsed, err := counted.ParseRegex(expression)
	if err != nil || parsed.Op != syntax.OpConcat {
		return s, false
	}
	parts := parsed.Sub
	if parts[len(parts)-1].Op == syntax.OpEndText {
		parts = parts[:len(parts)-1]
	}
	last := parts[len(parts)-1]
	if len(parts) < 2 || last.Op != syntax.OpCapture || last.Sub[0].Flags&syntax.NonGreedy != 0 ||
		last.Sub[0].Op != syntax.OpStar && last.Sub[0].Op != syntax.OpPlus || last.Sub[0].Sub[0].Op != syntax.OpAnyCharNotNL {
		return s, false
	}
	s = shape{tail: last.Cap, needs: last.Sub[0].Op == syntax.OpPlus}
	s.before, ok = joined(parts[:len(parts)-1])
	return s, ok
}

// beyond reports whether the rest of a URL decides if the expression matches. The parameter text is the beginning of
// the URL, and the rest is unknown. The result is true if text fits the beginning of the expression, but ends before
// the last group (see shape), which matches any rest.
func (s shape) beyond(text string) bool {
	return slices.ContainsFunc(s.before, func(want []letter) bool {
		if len(want) <= len(text) {
			return false
		}
		for i, c := range []byte(text) {
			if !want[i](rune(c)) {
				return false
			}
		}
		return true
	})
}

// ways returns all texts that a regular expression matches. Each text is a []letter: one test for each character. ok
// is false if there are more than maxShapes texts, or if the expression has an operator that ways does not support,
// such as a repetition.
func ways(e *syntax.Regexp) (all [][]letter, ok bool) {
	switch e.Op {
	case syntax.OpBeginText, syntax.OpEmptyMatch:
		return [][]letter{nil}, true
	case syntax.OpLiteral:
		var word []letter
		for _, want := range e.Rune {
			word = append(word, func(r rune) bool {
				return r == want || e.Flags&syntax.FoldCase != 0 && strings.EqualFold(string(r), string(want))
			})
		}
		return [][]letter{word}, true
	case syntax.OpCharClass:
		return [][]letter{{func(r rune) bool {
			for i := 0; i+1 < len(e.Rune); i += 2 {
				if e.Rune[i] <= r && r <= e.Rune[i+1] {
					return true
				}
			}
			return false
		}}}, true
	case syntax.OpAnyCharNotNL:
		return [][]letter{{func(rune) bool { return true }}}, true
	case syntax.OpCapture, syntax.OpConcat:
		return joined(e.Sub)
	case syntax.OpQuest:
		all, ok = ways(e.Sub[0])
		return append(all, nil), ok
	case syntax.OpAlternate:
		for _, sub := range e.Sub {
			more, ok := ways(sub)
			if all = append(all, more...); !ok || len(all) > maxShapes {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}

// joined returns all texts that the regular expressions in parts match when they follow each other. Each text is a
// []letter: one test for each character. ok is false if there are more than maxShapes texts, or if the function ways
// cannot list the texts of one of the expressions.
func joined(parts []*syntax.Regexp) (all [][]letter, ok bool) {
	all = [][]letter{nil}
	for _, part := range parts {
		next, ok := ways(part)
		if !ok || len(all)*len(next) > maxShapes {
			return nil, false
		}
		var longer [][]letter
		for _, before := range all {
			for _, word := range next {
				longer = append(longer, slices.Concat(before, word))
			}
		}
		all = longer
	}
	return all, true
}

// readRedirectRegex adds the redirect of the middleware redirectRegex (the parameter p) to e. If the regular
// expression is invalid, or the expression or replacement is missing, routers that use the middleware answer
// 500.
func (e *effect) readRedirectRegex(p *part) {
	pattern := text(p.get("redirectRegex.regex"))
	expression, err := counted.Matcher(pattern, pattern)
	if err != nil || pattern == "" || text(p.get("redirectRegex.replacement")) == "" {
		p.failClosed("it has no regular expression with a replacement", "", "redirectRegex")
		return
	}
	r := &redirect{expression: expression, replacement: text(p.get("redirectRegex.replacement")), code: 302}
	if yes(p.get("redirectRegex.permanent")) {
		r.code = 301
	}
	e.redirects = append(e.redirects, r)
	p.say(Different, "a redirect for the hosts of a router where the expression has all their URLs; 301 or 302 for all methods, where Traefik answers 307 or 308 to some",
		"redirectRegex.regex", "redirectRegex.replacement", "redirectRegex.permanent")
}
