package explain

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// matchesWhole compares the whole value, byte by byte: Envoy reads both as Latin-1. A
// pattern that does not compile is in no table (xds.Route refuses it) and matches nothing.
// To compile a pattern costs far more than to compare with it, so the beginning is
// compared first: of thousands of patterns in a table few begin as the value does.
func matchesWhole(pattern, value string) bool {
	if !strings.HasPrefix(value, literalPrefix(pattern)) {
		return false
	}
	expression, err := regexp.Compile(`^(?:` + latin1(pattern) + `)$`)
	return err == nil && expression.MatchString(latin1(value))
}

// latin1 gives a text with a letter for each byte.
func latin1(text string) string {
	letters := make([]rune, len(text))
	for i := range len(text) {
		letters[i] = rune(text[i])
	}
	return string(letters)
}

// literalPrefix returns what every text begins with that a pattern matches, as far as that
// can be seen without compiling it.
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
