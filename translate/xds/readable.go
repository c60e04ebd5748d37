package xds

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Readable is a match without the parts that cannot be read.
type Readable struct {
	// Match matches every request that the whole match was to match, and maybe more.
	Match ir.Match
	// Place is the match by which a rule with Match has its place in the order. It differs from Match if the path is
	// what a broken regular expression begins with: such a rule has the place of a path prefix.
	Place ir.Match
	// Whole is true if nothing was left out. Left is false if nothing is left of the match.
	Whole, Left bool
}

// ReadMatch leaves out the parts of a match that Envoy would reject: a path, a method, a header or a query parameter.
// A regular expression for the path that cannot be read leaves the text that all its paths begin with, as a prefix.
func ReadMatch(match ir.Match) Readable {
	out := Readable{Match: match, Whole: true}
	out.Match.Headers, out.Match.Query = nil, nil
	reads := func(check func(*checker)) bool {
		c := &checker{rule: &ir.Rule{Source: &ir.Origin{}, Action: ir.Action{Respond: &ir.Respond{}}}}
		check(c)
		ok := !hasErrors(c.problems)
		out.Whole = out.Whole && ok
		return ok
	}
	if !reads(func(c *checker) { c.checkMatch(&ir.Match{Path: match.Path}) }) {
		out.Match.Path = ir.Path{Kind: ir.PathPrefix, Value: "/", RPC: ir.RPC{Is: match.Path.RPC.Is}}
	}
	if !reads(func(c *checker) { c.text("", match.Method) }) {
		out.Match.Method = ""
	}
	for _, header := range match.Headers {
		if reads(func(c *checker) { c.headerName("", header.Name); c.value("", header) }) {
			out.Match.Headers = append(out.Match.Headers, header)
		}
	}
	for _, parameter := range match.Query {
		if parameter.Name != "" && reads(func(c *checker) { c.text("", parameter.Name); c.value("", parameter) }) {
			out.Match.Query = append(out.Match.Query, parameter)
		} else {
			out.Whole = false
		}
	}
	out.Place = out.Match
	if out.Match.Path != match.Path && match.Path.Kind == ir.PathRegex {
		out.begin(match.Path)
	}
	path := out.Place.Path
	every := path.Kind == ir.PathPrefix && path.Value == "/" && out.Match.Method == "" && len(out.Match.Headers)+len(out.Match.Query) == 0
	out.Left = out.Whole || !every
	return out
}

// CheckMatch returns the errors of the match of a rule, for which Envoy would reject the rule even if it answers 500.
func CheckMatch(rule *ir.Rule) []manifest.Problem {
	c := &checker{rule: rule}
	c.checkMatch(&rule.Match)
	return slices.DeleteFunc(c.problems, func(p manifest.Problem) bool { return p.Severity != manifest.Error })
}

// begin sets the path of a match to the text that all paths of a broken regular expression begin with.
func (r *Readable) begin(broken ir.Path) {
	if broken.RPC.Is {
		r.beginCall(broken.RPC)
	} else if prefix := literal(broken.Value); strings.HasPrefix(prefix, "/") {
		r.from("/", prefix[1:], ir.RPC{})
	}
}

// beginCall does what begin does, for the method of a gRPC call.
func (r *Readable) beginCall(broken ir.RPC) {
	if broken.Service == "" || regexFault(broken.Service) != "" {
		service := literal(broken.Service)
		r.from("/", service, ir.RPC{Is: true, Service: service})
		return
	}
	method := literal(broken.Method)
	r.from("/(?:"+broken.Service+")/", method, ir.RPC{Is: true, Service: broken.Service, Method: method})
}

// from sets the path to a regular expression and the text that is to follow it. It changes nothing if every path begins
// so.
func (r *Readable) from(pattern, text string, rpc ir.RPC) {
	if pattern == "/" && text == "" {
		return
	}
	r.Match.Path = ir.Path{Kind: ir.PathRegex, Value: pattern + regexp.QuoteMeta(text) + ".*", RPC: rpc}
	r.Place.Path = ir.Path{Kind: ir.PathPrefix, Value: pattern + text, RPC: rpc}
}

// literal returns the text that everything begins with that a regular expression was to match. The expression may be
// broken. The text is "" if the expression has alternatives outside of parentheses.
func literal(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "^")
	if alternatives(pattern) {
		return ""
	}
	var out []rune
	for rest := pattern; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch {
		case r == '\\' && rest != "" && unicode.IsPunct(rune(rest[0])):
			out, rest = append(out, rune(rest[0])), rest[1:]
		case strings.ContainsRune("*?{", r): // what is before may be missing
			return string(out[:max(len(out)-1, 0)])
		case strings.ContainsRune(`\.+()|[]}^$`, r), r == utf8.RuneError, !unicode.IsPrint(r):
			return string(out)
		default:
			out = append(out, r)
		}
	}
	return string(out)
}

// alternatives reports whether a pattern has the sign | outside of parentheses.
func alternatives(pattern string) bool {
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth <= 0 {
				return true
			}
		}
	}
	return false
}
