package explain

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gatefold/gatefold/store/counted"
)

// matchesWhole reports whether a regular expression matches a whole value. It compares bytes, because Envoy
// reads pattern and value as Latin-1. It returns false for a pattern that does not compile; xds.Route rejects
// such a pattern. Compiling costs far more than comparing, so the literal beginning of the pattern is compared
// first.
func matchesWhole(pattern, value string) bool {
	if !strings.HasPrefix(value, literalPrefix(pattern)) {
		return false
	}
	expression, err := CompilePattern(pattern)
	return err == nil && expression.MatchString(counted.Latin1(value))
}

// literalPrefix returns the text of the pattern before its first special character. If that character (such as
// "?") makes the character before it optional, the result does not contain the optional character. Every value
// that the pattern matches begins with the result. literalPrefix does not compile the pattern. It returns "" if
// the pattern contains "|".
func literalPrefix(pattern string) string {
	if strings.Contains(pattern, "|") {
		return ""
	}
	end := strings.IndexAny(pattern, `\.+*?()[]{}^$`)
	switch {
	case end < 0:
		return pattern
	case end > 0 && strings.IndexByte("*?{", pattern[end]) >= 0: // the last character is optional
		_, size := utf8.DecodeLastRuneInString(pattern[:end])
		end -= size
	}
	return pattern[:end]
}

// CompilePattern compiles a regular expression that matches as in Envoy: it must match the whole value, and Envoy
// takes each byte of pattern and value for one character. Go takes a sequence of bytes in UTF-8 for one character. So
// the result may be compared only with values in ASCII, for which there is no difference. CompilePattern returns an
// error if the pattern is invalid.
func CompilePattern(pattern string) (*regexp.Regexp, error) {
	return counted.Matcher(pattern, `^(?:`+counted.Latin1(pattern)+`)$`)
}
