package explain

import (
	"regexp"
	"strings"
	"unicode/utf8"
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
	return err == nil && expression.MatchString(latin1(value))
}

// maxEffort bounds the cost of the regular expressions that one query compares, in steps. That many steps need
// a few seconds. A virtual host with 100,000 expressions of usual length needs fewer steps for a usual path.
const maxEffort = 1 << 30

// effort limits the cost of the regular expressions of one query.
type effort struct{ left int }

func newEffort() *effort { return &effort{maxEffort} }

// spent reports whether an expression was not compared because the limit was reached.
func (e *effort) spent() bool { return e.left < 0 }

// matchesWhole calls the function matchesWhole, and subtracts the cost from the limit. It returns false if the
// limit is reached. Compiling an expression costs as much as comparing 256 bytes.
func (e *effort) matchesWhole(pattern, value string) bool {
	const compiling = 256
	if !strings.HasPrefix(value, literalPrefix(pattern)) {
		return false
	}
	if e.left -= (len(value) + compiling) * (len(pattern) + 1); e.spent() {
		return false
	}
	return matchesWhole(pattern, value)
}

// latin1 returns a text with one rune for each byte.
func latin1(text string) string {
	letters := make([]rune, len(text))
	for i := range len(text) {
		letters[i] = rune(text[i])
	}
	return string(letters)
}

// literalPrefix returns the beginning of the pattern that has no special characters, without a last character
// that may be absent. Every value that the pattern matches begins with this text. literalPrefix does not
// compile the pattern. It returns "" if the pattern contains "|".
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

// CompilePattern compiles a regular expression as Envoy compares it: with a whole value, byte by byte. Values
// that it is compared with must be ASCII. It returns an error if the pattern is invalid.
func CompilePattern(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`^(?:` + latin1(pattern) + `)$`)
}
