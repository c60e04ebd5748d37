package store

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatefold/gatefold/store/manifest"
)

// unfitText returns the problem of a text that must not be parsed: it is too large, is not UTF-8, or has characters
// that YAML does not allow. unfit is false for other texts.
func unfitText(text []byte) (p manifest.Problem, unfit bool) {
	if n := estimateNodes(text); n > maxNodes {
		return manifest.Problem{
			Code: "DocumentTooLarge", Line: 1, Column: 1,
			Message: fmt.Sprintf("the document holds about %d keys and values, at most %d are read", n, maxNodes),
			Hint:    "split it into several documents or files",
		}, true
	}
	if p, is := unfitFile(text); is {
		return p, true
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return notUTF8(text, at), true
		}
		if !allowedInYAML(r) {
			where := placeAt(text, at)
			return manifest.Problem{
				Code: "InvalidYAML", Line: where.line, Column: where.column,
				Message: fmt.Sprintf("the control character %U is not allowed in YAML", r),
				Hint:    `remove it; between double quotes it may be written as \x01 and the like`,
			}, true
		}
		at += size
	}
	return manifest.Problem{}, false
}

// allowedInYAML reports whether YAML allows the character in a text.
func allowedInYAML(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r <= 0x9f:
		return r <= '~' || r == 0x85
	}
	return r != 0xfffe && r != 0xffff
}

// unfitFile returns the problem of a text in UTF-16, or of a binary file. No line of such a text can be shown.
// unfit is false for other texts.
func unfitFile(text []byte) (p manifest.Problem, unfit bool) {
	switch {
	case isUTF16(text):
		return manifest.Problem{
			Code: "InvalidUTF8", Line: 1, Column: 1, Message: "the file is in UTF-16, not in UTF-8",
			Hint: "save the file as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW",
		}, true
	case bytes.IndexByte(text, 0) >= 0:
		return manifest.Problem{
			Code: "BinaryFile", Line: 1, Column: 1, Message: "the file holds NUL bytes: it is binary, not YAML",
			Hint: "remove the file, give it another extension, or name it in .gatefoldignore",
		}, true
	}
	return manifest.Problem{}, false
}

// isUTF16 reports whether the text begins with a byte order mark of UTF-16, or looks like ASCII in UTF-16. In
// such a text every second byte is zero. It checks at most the first 64 bytes.
func isUTF16(text []byte) bool {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return true
	}
	start := text[:min(len(text), 64)&^1]
	zero := [2]int{}
	for i, b := range start {
		if b == 0 {
			zero[i%2]++
		}
	}
	half := len(start) / 2
	return half > 0 && (zero[0] == half && zero[1] == 0 || zero[1] == half && zero[0] == 0)
}

// notUTF8 returns the problem that the byte text[at] is not UTF-8.
func notUTF8(text []byte, at int) manifest.Problem {
	where := placeAt(text, at)
	return manifest.Problem{
		Code: "InvalidUTF8", Line: where.line, Column: where.column,
		Message: fmt.Sprintf("byte %d of the line (0x%02x) is not UTF-8", at-bytes.LastIndexByte(text[:at], '\n'), text[at]),
		Hint:    "save the file as UTF-8",
	}
}

// placeAt returns the place of the byte at an offset of the text.
func placeAt(text []byte, at int) place {
	before := text[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return place{bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1, 1}
}

// mistake is a syntax error for which explainSyntax makes an explanation.
type mistake struct {
	finding
	text   []byte
	at     int    // the offset of the error
	line   string // the line of that offset
	before string // the part of the line before that offset
}

// nameSyntax converts a parser's error to a finding that has no explanation. It is faster than explainSyntax, and is
// used for errors that are not shown in detail.
func nameSyntax(err error) finding {
	reason := reasonOf(err)
	if strings.HasPrefix(reason, "unknown anchor") {
		reason = "unknown anchor" // the anchor's name may be part of a Secret
	}
	return finding{Problem: manifest.Problem{
		Code: "InvalidYAML", Severity: manifest.Error, Line: lineIn(err), Message: "the YAML cannot be read: " + reason,
	}}
}

// explainSyntax returns the finding of a parser's error, with the place of the mistake. If the mistake is a
// known one, the finding has an explanation, and a hint if there is one. The finding has an excerpt unless the
// text may have secret content (secretive).
func explainSyntax(text []byte, err error) finding {
	reason := reasonOf(err)
	m := &mistake{text: text}
	m.move(blame(text, err))
	m.finding = nameSyntax(err)
	if !m.explainLine() {
		m.explainReason(reason, err)
	}
	where := placeAt(text, m.at)
	where.width = max(1, m.width)
	m.Line, m.Column = where.line, where.column
	if !secretive(text) {
		m.Excerpt = excerpt(text, where)
	}
	return m.finding
}

// move sets the offset of the mistake, and its line.
func (m *mistake) move(at int) {
	start := bytes.LastIndexByte(m.text[:at], '\n') + 1
	line, _, _ := bytes.Cut(m.text[start:], []byte{'\n'})
	m.at, m.line, m.before = at, string(bytes.TrimSuffix(line, []byte{'\r'})), string(m.text[start:at])
}

// say sets the message and the hint.
func (m *mistake) say(message, hint string) { m.Message, m.Hint = message, hint }

// next returns the byte at the mistake, 0 at the end of the text.
func (m *mistake) next() byte {
	if m.at < len(m.text) {
		return m.text[m.at]
	}
	return 0
}

var conflictMarker = regexp.MustCompile(`(?m)^<<<<<<<( |\r?$)`)

// explainLine sets the message and hint for common mistakes that are visible in the text: a merge conflict, a
// variable or template (variable), or a tab. It also moves the mistake to that place. It returns false if it finds none of these
// mistakes.
func (m *mistake) explainLine() bool {
	indent := len(m.line) - len(strings.TrimLeft(m.line, " \t"))
	switch {
	case conflictMarker.Match(m.text):
		m.move(conflictMarker.FindIndex(m.text)[0])
		m.Code = "MergeConflict"
		m.say("the file holds an unresolved merge conflict", "decide for one of the two sides and remove the lines <<<<<<<, ======= and >>>>>>>")
	case m.variable():
	case strings.Contains(m.line[:indent], "\t"):
		m.move(m.at - len(m.before) + strings.Index(m.line, "\t"))
		m.say("a tab is used to indent", "indent with spaces; YAML allows no tabs there")
	default:
		return false
	}
	return true
}

// explanations has, for each known reason for which the parser rejects a text, a function that sets the message and
// hint of the mistake. A reason is the beginning of the parser's text.
var explanations = []struct {
	reason  string
	explain func(*mistake)
}{
	{"mapping values are not allowed in this context", (*mistake).strayColon},
	{"did not find expected key", (*mistake).misfit},
	{"did not find expected '-' indicator", (*mistake).misfit},
	{"could not find expected ':'", (*mistake).noColon},
	{"found unexpected end of stream", (*mistake).unclosedQuote},
	{"did not find expected ',' or", (*mistake).unclosedFlow},
	{"did not find expected alphabetic or numeric character", (*mistake).specialStart},
	{"found character that cannot start any token", (*mistake).specialStart},
	{"unknown anchor", (*mistake).specialStart},
	{"found unknown escape character", func(m *mistake) {
		m.say("the backslash begins no escape that YAML knows", `put the value in single quotes, or write \\ for a backslash`)
	}},
	{"block sequence entries are not allowed", func(m *mistake) {
		m.say("a list cannot begin here", `begin the list in a line of its own, or put text that begins with "- " in quotes`)
	}},
	{"did not find expected node content", (*mistake).noValue},
	{"did not find expected <document start>", (*mistake).afterValue},
	{"did not find expected comment or line break", func(m *mistake) {
		m.say("nothing may follow | or > in its line", "begin the text in the next line, indented")
	}},
	{"exceeded max depth", func(m *mistake) {
		m.Code = "TooDeep"
		m.say(fmt.Sprintf("values are nested more than %d levels deep", maxDepth), lessDeep)
	}},
	{"found incompatible YAML document", func(m *mistake) {
		m.say("%YAML names a version that is not 1.1, 1.2 or another 1.x", "remove the line %YAML")
	}},
	{"the parser gave up", func(m *mistake) {
		m.say("the YAML cannot be read", "simplify the document, its comments first")
	}},
}

// explainReason sets the message and hint by the parser's reason. It does nothing for an unknown reason.
func (m *mistake) explainReason(reason string, err error) {
	if errors.Is(err, errExtraDocument) {
		m.say("a second document begins inside this one", "write its --- at the begin of a line that ends with LF or CRLF")
	}
	for _, e := range explanations {
		if strings.HasPrefix(reason, e.reason) {
			e.explain(m)
			return
		}
	}
}

var (
	keyWithoutBlank = regexp.MustCompile(`^\s*(- +)*[\w.-]+:[^\s/:"'][^:]*$`)
	keyAndValue     = regexp.MustCompile(`^\s*(- +)*[^\s#][^#]*?:\s+[^\s#|>&]`)
)

// strayColon sets the message and hint for a "key: value" after a value, or inside a value.
func (m *mistake) strayColon() {
	if head := strings.TrimLeft(m.before, " -"); strings.Contains(head, ": ") {
		m.say(`the value holds ": ", which YAML takes for another key`, "put the value in quotes")
		return
	}
	number, above := m.lineAbove()
	key := len(m.before) - len(strings.TrimLeft(m.before, " "))
	m.move(m.at - len(m.before) + key)
	m.other = number
	switch {
	case keyWithoutBlank.MatchString(above):
		m.say("a key cannot stand here: line %d has no blank after its colon, and so is text", `write "key: value" with a blank`)
	case keyAndValue.MatchString(above):
		m.say("the key is indented deeper than line %d, which has a value already", "give lines of one object the same indentation")
	default:
		m.say("a key cannot stand here: line %d ends without a colon", `write "key:" above an object`)
	}
}

// lineAbove returns the nearest line above the mistake with something besides blanks and a comment, and its
// number. It returns 1 and "" if there is no such line.
func (m *mistake) lineAbove() (number int, line string) {
	above := m.text[:m.at-len(m.before)]
	for number = bytes.Count(above, []byte{'\n'}); number > 0; number-- {
		above = bytes.TrimSuffix(above, []byte{'\n'})
		start := bytes.LastIndexByte(above, '\n') + 1
		if last := above[start:]; !isBlank(last) {
			return number, strings.TrimRight(string(last), " \r")
		}
		above = above[:start]
	}
	return 1, ""
}

// afterValue sets the message and hint for text after the document's value, such as after a line {{ if … }}, which YAML
// reads as a mapping in brackets.
func (m *mistake) afterValue() {
	here := m.at
	number, _ := m.lineAbove()
	m.move(lineStart(m.text, number))
	if m.variable() {
		return
	}
	m.move(here)
	m.say("the document's value ended before this", "begin another document with a line ---")
}

// misfit sets the message and hint for a line that fits neither the list nor the mapping around it, for text after
// a closing quote or bracket, and for a closing bracket without an opening one.
func (m *mistake) misfit() {
	trimmed := strings.TrimLeft(m.before, " ")
	if strings.ContainsAny(trimmed, `"'`) {
		m.say("text follows a closing quote", "put the whole value in quotes; inside single quotes, write '' for one")
		return
	}
	if strings.ContainsAny(trimmed, "]}") || strings.ContainsRune("]}", rune(m.next())) {
		m.say("a bracket is closed that was not opened, or text follows it", "if the characters are meant as text, put it in quotes")
		return
	}
	m.move(m.at - len(trimmed))
	m.say("the line does not fit the lines above it: its indentation is that of nothing around it, or it mixes list items and keys",
		`give lines of one object or list the same indentation, and begin all items of a list with "- "`)
}

// noColon sets the message and hint for a line that is neither a key with a colon nor a list item.
func (m *mistake) noColon() {
	m.move(m.at - len(strings.TrimLeft(m.before, " ")))
	m.say("the line is neither a key with a colon nor a list item", `write "key: value"; to go on with the text above, indent deeper than its key`)
}

// unclosedQuote sets the message and hint for a quote that is not closed.
func (m *mistake) unclosedQuote() {
	m.say("the quote that opens here is never closed", "close it; a quote inside quotes must be escaped")
}

// specialStart sets the message and hint for text without quotes that begins with a tab, or with a special
// character of YAML, such as * or &.
func (m *mistake) specialStart() {
	word := ""
	if start := strings.LastIndexAny(m.before, " ,[{") + 1; strings.ContainsRune("*&!", rune(m.line[min(start, len(m.line)-1)])) {
		m.move(m.at - len(m.before) + start)
	}
	if rest := strings.TrimLeft(m.line[len(m.before):], " \t"); rest != "" {
		word = rest[:len(rest)-len(strings.TrimLeftFunc(rest, inWord))]
	}
	if secretive(m.text) || word == "" {
		word = "…"
	}
	switch {
	case m.next() == '\t':
		m.say("a tab stands before a key or value", "use spaces")
	case m.next() == '*' && !strings.HasPrefix(m.line[len(m.before):], "*."):
		m.say("undefined YAML alias "+clean(word), `define the anchor above it in the same document (anchors end with their document); if it is text, put it in quotes: "`+clean(word)+`"`)
	case m.next() == '*' || m.next() == '&':
		m.say(fmt.Sprintf("text cannot begin with %s, which YAML reads as an alias or an anchor", quote(string(m.next()))), `put it in quotes: "`+clean(word)+`"`)
	default:
		m.say(fmt.Sprintf("text cannot begin with %s", quote(string(m.next()))), `put it in quotes: "`+clean(word)+`"`)
	}
}

// inWord reports whether a character can be part of a word in a list or mapping in brackets.
func inWord(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune(",[]{}", r) }
