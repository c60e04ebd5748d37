package xds

import (
	"regexp/syntax"
	"strings"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/translate/ir"
)

// Prefix returns a text with which the path of every matching request begins. The path includes the query. For
// example, a match with the path prefix /foo also accepts "/foo?x", so Prefix returns "/foo" and not "/foo/". For a
// regular expression, two prefixes may be known: the literal beginning of the expression, and match.Within. Prefix
// then returns the longer one, or "" if neither is known. Prefix must agree with routeMatch.
func Prefix(match *ir.Match) string {
	prefix := match.Path.Value
	if match.Path.Kind == ir.PathRegex {
		prefix = regexPrefix(prefix)
	}
	if len(match.Within) > len(prefix) { // the path has both prefixes; the longer one says more
		return match.Within
	}
	return prefix
}

// Covers reports whether a match certainly accepts every request whose path begins with the parameter key. The result
// is true only if the match has no condition except a path prefix, and the key begins with this prefix and a slash.
func Covers(match *ir.Match, key string) bool {
	if match.Path.Kind != ir.PathPrefix || match.Method != "" || match.Within != "" ||
		len(match.Hosts)+len(match.Headers)+len(match.Query) > 0 {
		return false
	}
	segment := strings.TrimSuffix(match.Path.Value, "/") + "/"
	return strings.HasPrefix(key, segment) && !strings.ContainsAny(segment, "?#") // the path ends at "?" or "#"
}

// Counts reports whether the action has a local rate limit from the policies of the route. Envoy counts requests for
// each route separately. So a route with such an action must not be in several leaves (see Leaf), where each copy of
// the route would count only its own requests.
func Counts(action *ir.Action) bool { return action.Extras != nil && action.Extras.RateLimit != nil }

// regexPrefix returns a common beginning of all texts that a regular expression matches as a whole. It may be shorter
// than their longest common beginning. It is "" if regexPrefix finds none.
func regexPrefix(pattern string) string {
	parsed, err := counted.ParseRegex(pattern)
	if err != nil {
		return ""
	}
	prefix, _ := leading(parsed)
	return prefix
}

// leading returns a text (prefix) with which every match of a regular expression begins, or "" if it finds none. The
// result whole is true if every match consists of exactly this text. If another expression follows, and whole is
// true, the caller may append the prefix of that expression.
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
