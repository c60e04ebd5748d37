package ir

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// ImpossibleInPath returns a text that all paths that a pattern matches must have, and that no normalized path has. It
// returns "" if it finds none.
func ImpossibleInPath(pattern *syntax.Regexp) string {
	switch pattern.Op {
	case syntax.OpLiteral:
		if text := string(pattern.Rune); !MayBeInPath(text) {
			return text
		}
	case syntax.OpCapture, syntax.OpPlus:
		return ImpossibleInPath(pattern.Sub[0])
	case syntax.OpRepeat:
		if pattern.Min > 0 {
			return ImpossibleInPath(pattern.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range pattern.Sub {
			if text := ImpossibleInPath(sub); text != "" {
				return text
			}
		}
	case syntax.OpAlternate:
		if slices.ContainsFunc(pattern.Sub, func(sub *syntax.Regexp) bool { return ImpossibleInPath(sub) == "" }) {
			return ""
		}
		return ImpossibleInPath(pattern.Sub[0])
	}
	return ""
}

// MayBeInPath reports whether a normalized path can contain a text. Dots at an end of the text may belong to a longer
// name.
func MayBeInPath(text string) bool {
	whole := "/x" + text + "x/"
	return NormalizePath(whole) == whole && !strings.ContainsAny(text, "?# ")
}
