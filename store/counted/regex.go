// Package counted reads the expressions of users: regular expressions (RE2) and CEL. A parser costs far more than
// the text that it reads, and a short text can stand for a large program. So every expression is counted before it is
// parsed, and again before its repetitions are unrolled. No other package calls these parsers for a text of a user
// (docs/design/safety.md#what-is-not-linear-is-counted-first).
package counted

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode"
)

const (
	// maxRegexLength is the maximum length of a regular expression in bytes.
	maxRegexLength = 1024
	// maxCompiled is the maximum number of instructions of a regular expression as Go compiles it. Go has one
	// instruction for a class of characters, however many ranges the class has.
	maxCompiled = 4096
	// maxInstructions is the maximum number of instructions of a regular expression of a team (Costly). It counts one
	// for each range of a class.
	maxInstructions = 2000
	// mostCounted limits what Instructions returns, so that sums do not overflow.
	mostCounted = 1 << 14
)

// ParseRegex parses a regular expression. It returns an error if the expression is longer than maxRegexLength, has a
// syntax error, or would compile to more than maxCompiled instructions. It does not unroll repetitions.
func ParseRegex(pattern string) (*syntax.Regexp, error) {
	if len(pattern) > maxRegexLength {
		return nil, fmt.Errorf("is %d bytes long, over the limit of %d", len(pattern), maxRegexLength)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	var fault *syntax.Error
	switch {
	case errors.As(err, &fault):
		return nil, fmt.Errorf("is not valid: %s: `%s`", fault.Code, fault.Expr)
	case err != nil:
		return nil, fmt.Errorf("is not valid: %w", err)
	}
	if n := compiledSize(parsed); n > maxCompiled {
		return nil, fmt.Errorf("compiles to %d instructions or more, over the limit of %d", n, maxCompiled)
	}
	return parsed, nil
}

// CompileRegex compiles a regular expression to the instructions of Go. It returns the errors of ParseRegex.
func CompileRegex(pattern string) (*syntax.Prog, error) {
	parsed, err := ParseRegex(pattern)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return program, nil
}

// Matcher compiles the text form to a regular expression of Go. The parameter form must be the parameter pattern in
// another form, for example with "^" in front: only pattern is counted. Matcher returns the errors of ParseRegex.
func Matcher(pattern, form string) (*regexp.Regexp, error) {
	if _, err := ParseRegex(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(form)
}

// Costly returns in words why a regular expression is too large for the Envoys that namespaces share: it has more than
// maxInstructions instructions, where a class of characters counts one for each of its ranges. It returns "" for every
// other expression, also for an invalid one.
func Costly(pattern string) string {
	parsed, err := parseBytes(pattern)
	if err != nil {
		return ""
	}
	if n := instructions(parsed); n > maxInstructions {
		return fmt.Sprintf("comes to %d instructions, each range of a class counted; the limit is %d", n, maxInstructions)
	}
	return ""
}

// instructions returns the number of instructions of a regular expression after its repetitions are unrolled, at most
// mostCounted. A class of characters counts one for each of its ranges of bytes, because RE2 compiles each range by
// itself. Each node counts at least 1, so that no repetition of anything is free.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(mostCounted, n+instructions(sub))
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n = max(1, byteRanges(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		n = 1
	case syntax.OpRepeat:
		if n *= max(re.Min, re.Max, 1); re.Max == 0 { // Max is -1 without an upper limit
			n = 1
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n++
	case syntax.OpAlternate:
		n += len(re.Sub) - 1
	case syntax.OpCapture:
		n += 2
	}
	return min(mostCounted, n)
}

// byteRanges returns how many ranges of a class contain bytes. Envoy has no other characters.
func byteRanges(class []rune) (n int) {
	for i := 0; i+1 < len(class) && class[i] <= unicode.MaxLatin1; i += 2 {
		n++
	}
	return n
}

// parseBytes parses a regular expression as Envoy reads it: each byte of the pattern is a character.
func parseBytes(pattern string) (*syntax.Regexp, error) {
	parsed, err := ParseRegex(pattern)
	if err != nil {
		return nil, err
	}
	if form := Latin1(pattern); form != pattern {
		return syntax.Parse(form, syntax.Perl)
	}
	return parsed, nil
}

// Latin1 returns a text with one character for each byte. Envoy reads expressions and values so.
func Latin1(text string) string {
	letters := make([]rune, len(text))
	for i := range len(text) {
		letters[i] = rune(text[i])
	}
	return string(letters)
}
