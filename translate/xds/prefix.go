package xds

import (
	"regexp/syntax"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// Prefix returns a text that every request accepted by Route's match has at the beginning of its
// path with query. It is "/foo" for a prefix /foo, which also accepts "/foo?x". It is "" if no such
// text is certain. It must agree with routeMatch.
func Prefix(match *ir.Match) string {
	prefix := match.Path.Value
	if match.Path.Kind == ir.PathRegex {
		prefix = regexPrefix(prefix)
	}
	if len(match.Within) > len(prefix) { // both hold, so that one begins with the other, or nothing matches
		return match.Within
	}
	return prefix
}

// Covers reports whether a match certainly accepts every request whose path begins with key. It
// does if its only condition is a prefix whose segment ends within key.
func Covers(match *ir.Match, key string) bool {
	if match.Path.Kind != ir.PathPrefix || match.Method != "" || match.Within != "" ||
		len(match.Hosts)+len(match.Headers)+len(match.Query) > 0 {
		return false
	}
	segment := strings.TrimSuffix(match.Path.Value, "/") + "/"
	return strings.HasPrefix(key, segment) && !strings.ContainsAny(segment, "?#") // where the path ends
}

// Counts reports whether an action counts requests in the Envoy route. Then each copy of the route
// counts only its own requests.
func Counts(action *ir.Action) bool { return action.Extras != nil && action.Extras.RateLimit != nil }

// regexPrefix returns the common beginning of all texts that a regular expression matches as a
// whole.
func regexPrefix(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	prefix, _ := leading(parsed)
	return prefix
}

// leading returns the common beginning of all matches of an expression. whole is true if the
// beginning is the whole match, so that the next expression may continue it.
func leading(re *syntax.Regexp) (prefix string, whole bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpBeginLine:
		return "", true
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune), true
		}
	case syntax.OpCapture:
		return leading(re.Sub[0])
	case syntax.OpConcat:
		for _, part := range re.Sub {
			more, whole := leading(part)
			if prefix += more; !whole {
				return prefix, false
			}
		}
		return prefix, true
	}
	return "", false
}
