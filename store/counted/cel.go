package counted

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/gatefold/gatefold/store/manifest"
)

const (
	// MaxCELDepth is how deep an expression of CEL may be nested. Envoy accepts 100 levels of messages, and each level
	// of an expression needs two.
	MaxCELDepth = 32
	// MaxCELParts is the maximum number of parts of an expression of CEL, because Envoy evaluates it for each request. A
	// part is a value, a call or an operator.
	MaxCELParts = 500
	// maxCELLength is the maximum length of an expression of CEL in characters, the same as kgateway's.
	maxCELLength = 16384
)

// environment returns the environment in which expressions of CEL are parsed. Envoy has no macro except has().
var environment = sync.OnceValue(func() *cel.Env {
	env, err := cel.NewCustomEnv(cel.ClearMacros(), cel.Macros(cel.HasMacro), cel.ParserRecursionLimit(4*MaxCELDepth))
	if err != nil {
		panic(fmt.Sprintf("counted: the environment of CEL: %v", err))
	}
	return env
})

// ParseCEL parses an expression of CEL. It returns an error if the expression has more than maxCELLength characters or
// more than MaxCELParts parts, which it counts in the text, or if the expression has a syntax error.
func ParseCEL(text string) (*cel.Ast, error) {
	if n := utf8.RuneCountInString(text); n > maxCELLength {
		return nil, fmt.Errorf("has %d characters, over the limit of %d", n, maxCELLength)
	}
	if CELParts(text) > MaxCELParts {
		return nil, fmt.Errorf("has more than %d parts", MaxCELParts)
	}
	parsed, issues := environment().Parse(text)
	if issues.Err() != nil {
		message, _, _ := strings.Cut(issues.Errors()[0].Message, "\n")
		return nil, errors.New("is not an expression of CEL: " + manifest.Shorten(message))
	}
	return parsed, nil
}

// PatternsOf returns the regular expressions that a parsed expression of CEL compares with (see CELPatterns).
func PatternsOf(tree ast.Expr) (patterns []string) {
	ast.PostOrderVisit(tree, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "matches" {
			return
		}
		if args := e.AsCall().Args(); len(args) > 0 && args[len(args)-1].Kind() == ast.LiteralKind {
			pattern, _ := args[len(args)-1].AsLiteral().Value().(string)
			patterns = append(patterns, pattern)
		}
	}))
	return patterns
}

// CELParts counts the parts of an expression of CEL in its text. The result is never more than the number of nodes of
// the syntax tree, and rarely less: a minus and a "!" count nothing. It means nothing for a text with a syntax error.
func CELParts(text string) int {
	s := celScan{text: text}
	for s.next() {
	}
	return s.parts
}

// CELPatterns returns how many regular expressions an expression of CEL compares with, at most: the number of words
// "matches" in its text, without those in strings and comments. It does not parse the text, as PatternsOf needs.
func CELPatterns(text string) int {
	s := celScan{text: text}
	for s.next() {
	}
	return s.patterns
}

// celScan reads an expression of CEL token by token.
type celScan struct {
	text            string // the rest of the expression
	parts, patterns int
	// dot is true after a dot that selects a field of the value before it. bare is true after a value that may be one name
	// without fields. value is true after any value.
	dot, bare, value bool
}

// next reads one token. It returns false at the end of the text.
func (s *celScan) next() bool {
	s.text = strings.TrimLeft(s.text, " \t\r\n\f")
	if s.text == "" {
		return false
	}
	switch first := s.text[0]; {
	case strings.HasPrefix(s.text, "//"):
		s.skip(strings.IndexByte(s.text, '\n'))
	case quoteAt(s.text) >= 0:
		s.quoted(quoteAt(s.text))
	case isDigit(first), first == '.' && len(s.text) > 1 && isDigit(s.text[1]):
		s.skip(numberEnd(s.text))
		s.literal()
	case isNameByte(first):
		s.name()
	case first == '`':
		s.skip(1 + strings.IndexByte(s.text[1:], '`') + 1)
		s.field()
	default:
		s.sign(first)
	}
	return true
}

// skip drops the first n bytes of the text, or the whole text if n is below 1 or too large.
func (s *celScan) skip(n int) {
	if n < 1 || n > len(s.text) {
		n = len(s.text)
	}
	s.text = s.text[n:]
}

// literal counts a value that is written out.
func (s *celScan) literal() {
	s.parts++
	s.dot, s.bare, s.value = false, false, true
}

// field counts a name after a dot. The syntax tree has one node for "a.b", so the first field of a name counts nothing.
func (s *celScan) field() {
	if !s.bare {
		s.parts++
	}
	s.dot, s.bare, s.value = false, false, true
}

// name reads a name or a word of the language, and counts it.
func (s *celScan) name() {
	end := strings.IndexFunc(s.text, func(r rune) bool { return r >= utf8.RuneSelf || !isNameByte(byte(r)) })
	if end < 0 {
		end = len(s.text)
	}
	word := s.text[:end]
	s.skip(end)
	if word == "matches" {
		s.patterns++
	}
	switch {
	case s.dot:
		s.field()
	case word == "in":
		s.operator()
	case word == "has" && strings.HasPrefix(strings.TrimLeft(s.text, " \t\r\n\f"), "("): // has(a.b) is one node with a.b
		s.bare, s.value = false, false
	default:
		s.literal()
		s.bare = word != "true" && word != "false" && word != "null"
	}
}

// operator counts an operator with two operands.
func (s *celScan) operator() {
	s.parts++
	s.dot, s.bare, s.value = false, false, false
}

// sign reads an operator, a bracket or a dot.
func (s *celScan) sign(first byte) {
	for _, double := range []string{"&&", "||", "==", "!=", "<=", ">="} {
		if strings.HasPrefix(s.text, double) {
			s.skip(len(double))
			s.operator()
			return
		}
	}
	s.skip(1)
	switch first {
	case '<', '>', '?', '*', '/', '%', '+', '[':
		s.operator()
	case '.':
		s.dot = s.value
	case ')': // (a).b is a.b
		s.dot, s.bare, s.value = false, true, true
	case ']', '}':
		s.dot, s.bare, s.value = false, false, true
	default:
		s.dot, s.bare, s.value = false, false, false
	}
}

// quoteAt returns where the quotes of a string begin, after the letters that may stand before them. It returns -1 if
// the text does not begin with a string.
func quoteAt(text string) int {
	for i := range min(3, len(text)) {
		switch text[i] {
		case '"', '\'':
			return i
		case 'r', 'R', 'b', 'B':
		default:
			return -1
		}
	}
	return -1
}

// quoted reads and counts a string, whose quotes begin at the parameter at.
func (s *celScan) quoted(at int) {
	raw := strings.ContainsAny(s.text[:at], "rR")
	quote := s.text[at : at+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(s.text[at:], long) {
		quote = long
	}
	end := at + len(quote)
	for end < len(s.text) && !strings.HasPrefix(s.text[end:], quote) {
		if s.text[end] == '\\' && !raw {
			end++
		}
		end++
	}
	s.skip(end + len(quote))
	s.literal()
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isNameByte(b byte) bool {
	return isDigit(b) || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_'
}

// numberEnd returns where a number at the beginning of a text ends.
func numberEnd(text string) int {
	hexadecimal := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	for i := 1; i < len(text); i++ {
		exponent := !hexadecimal && (text[i-1] == 'e' || text[i-1] == 'E')
		switch b := text[i]; {
		case isNameByte(b), b == '.' && i+1 < len(text) && isDigit(text[i+1]), exponent && (b == '+' || b == '-'):
		default:
			return i
		}
	}
	return len(text)
}
