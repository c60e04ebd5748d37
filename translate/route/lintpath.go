package route

import (
	"fmt"
	"regexp/syntax"
	"slices"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// checkPath warns of a path that Envoy never compares, because it normalizes the paths of requests (ir.NormalizePath).
// Of a regular expression it finds what is easily seen: a literal part that no path has.
func (b *builder) checkPath(field, path string, regex bool) {
	if !regex {
		if is := ir.NormalizePath(path); is != path {
			b.neverMatches(field, fmt.Sprintf("in a request, Envoy changes %q to %q before it compares", manifest.Shorten(path), manifest.Shorten(is)),
				fmt.Sprintf("write %q", is))
		}
		return
	}
	pattern, err := counted.ParseRegex(path)
	if err != nil {
		return // xds rejects it
	}
	if text := ir.ImpossibleInPath(pattern); text != "" {
		b.neverMatches(field, fmt.Sprintf("no path has %q in it when Envoy compares it: escaped letters, digits and -._~ are decoded, . and .. are resolved, and the query is left out", manifest.Shorten(text)),
			"write the path as it is then")
	} else if first := firstLiteral(pattern); first != "" && first[0] != '/' {
		b.neverMatches(field, fmt.Sprintf("the expression is for the whole path, and a path does not begin with %q", manifest.Shorten(first)), `write "/" in front, or ".*"`)
	}
}

// firstLiteral returns the text with which all paths begin that a pattern matches, or "" if the pattern does not begin
// with a literal.
func firstLiteral(pattern *syntax.Regexp) string {
	switch pattern.Op {
	case syntax.OpLiteral:
		return string(pattern.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return firstLiteral(pattern.Sub[0])
	case syntax.OpConcat:
		first := slices.IndexFunc(pattern.Sub, func(sub *syntax.Regexp) bool { return sub.Op != syntax.OpBeginText && sub.Op != syntax.OpBeginLine })
		if first >= 0 {
			return firstLiteral(pattern.Sub[first])
		}
	}
	return ""
}
