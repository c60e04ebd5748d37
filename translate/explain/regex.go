package explain

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// matchesWhole compares the whole value byte by byte, because Envoy reads pattern and value as
// Latin-1. A pattern that does not compile is in no table (xds.Route rejects it) and matches
// nothing. Compiling costs far more than comparing, so the literal beginning of the pattern is
// compared first.
func matchesWhole(pattern, value string) bool {
	if !strings.HasPrefix(value, literalPrefix(pattern)) {
		return false
	}
	expression, err := CompilePattern(pattern)
	return err == nil && expression.MatchString(latin1(value))
}

// maxEffort bounds the regular expressions that one question compares, in steps: a few
// seconds. A table of 100,000 expressions of usual length stays below it for a usual path.
const maxEffort = 1 << 30

// effort limits the cost of the regular expressions of a question.
type effort struct{ left int }

func newEffort() *effort { return &effort{maxEffort} }

// spent reports whether an expression was not compared because the limit was reached.
func (e *effort) spent() bool { return e.left < 0 }

// matchesWhole is the function matchesWhole within the limit. Compiling an expression costs as much
// as comparing some bytes.
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

// latin1 returns a text with one letter for each byte.
func latin1(text string) string {
	letters := make([]rune, len(text))
	for i := range len(text) {
		letters[i] = rune(text[i])
	}
	return string(letters)
}

// literalPrefix returns the beginning of every text that a pattern matches, as far as it is visible
// without compiling the pattern.
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

// CompilePattern compiles a regular expression of a match as Envoy compares it: with a whole value,
// byte by byte. Values that it is compared with must be ASCII.
func CompilePattern(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`^(?:` + latin1(pattern) + `)$`)
}
