package store

import (
	"bytes"
	"strings"
)

// bracket is a "[" or "{" that opens a list or an object, with its offset in the text.
type bracket struct {
	open byte
	at   int
}

// closer returns the character that closes the bracket.
func (b bracket) closer() byte {
	if b.open == '[' {
		return ']'
	}
	return '}'
}

// unclosedFlow sets the message and hint for a list or object in brackets that has neither a comma nor the
// closing bracket after an item. The parser also says so of a "?" between brackets in a text without quotes. If it
// finds the opening bracket, it moves the mistake to that bracket.
func (m *mistake) unclosedFlow() {
	open, found := openBracket(m.text[:m.at])
	if !found {
		m.say("a comma or a closing bracket is missing after this", "")
		return
	}
	start := m.at - len(m.before)
	after := max(0, open.at-start) // what comes before the bracket is not between brackets
	if at := strings.IndexByte(m.plainLine()[min(after, len(m.line)):], '?'); at >= 0 {
		m.move(start + after + at)
		m.say(`text between brackets cannot have a "?"`, "put the whole value in quotes")
		return
	}
	m.unclosed(open)
}

// noValue sets the message and hint for a missing value. If the innermost open bracket at the mistake is never
// closed, or another kind of bracket closes it, the message is about that bracket.
func (m *mistake) noValue() {
	open, found := openBracket(m.text[:min(m.at+1, len(m.text))]) // the bracket may be the last character
	if found && (bytes.IndexByte(m.text[m.at:], open.closer()) < 0 || strings.IndexByte("]}", m.next()) >= 0 && m.next() != open.closer()) {
		m.unclosed(open)
		return
	}
	m.say("a value is missing, or a bracket or comma is too much", "if the characters are meant as text, put it in quotes")
}

// unclosed sets the message and hint for a bracket that is not closed, and moves the mistake to the bracket.
func (m *mistake) unclosed(open bracket) {
	message, closer := quote(string(open.open))+" opened here is never closed", quote(string(open.closer()))
	if bytes.IndexByte(m.text[m.at:], open.closer()) >= 0 {
		message = quote(string(open.open)) + " opened here is not closed, or a comma is missing after an item"
	}
	m.move(open.at)
	m.say(message, "close it with "+closer+"; if it is text, put it in quotes")
}

// openBracket returns the innermost bracket that the text opens and does not close. It ignores brackets in
// quotes, comments and block scalars. found is false if there is no such bracket.
func openBracket(text []byte) (innermost bracket, found bool) {
	s := bracketScanner{}
	base := 0
	for line := range bytes.Lines(text) {
		if !s.inBlock(line) {
			s.line(line, base)
		}
		base += len(line)
	}
	if len(s.open) == 0 {
		return bracket{}, false
	}
	return s.open[len(s.open)-1], true
}

// bracketScanner reads a text line by line, and records its open brackets.
type bracketScanner struct {
	open  []bracket
	quote byte // the quote that is open; 0 for none
	// block is 0 outside of a block scalar. In a block scalar, it is the indentation of the line that opens the
	// block scalar, plus one.
	block int
}

// inBlock reports whether the line belongs to a block scalar. If a block scalar ends before the line, inBlock
// sets s.block to 0.
func (s *bracketScanner) inBlock(line []byte) bool {
	if s.block > 0 && len(bytes.TrimSpace(line)) > 0 && indentOf(line) < s.block {
		s.block = 0
	}
	return s.block > 0
}

// indentOf returns the number of spaces at the beginning of a line.
func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// line updates the open brackets, the open quote and the block scalar for one line. base is the offset of the
// line in the text.
func (s *bracketScanner) line(line []byte, base int) {
	starts := true // whether a value may begin here
	for i, c := range line {
		switch {
		case s.quote != 0:
			if c == s.quote && (c == '\'' || i == 0 || line[i-1] != '\\') {
				s.quote = 0
			}
			continue
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return
		case starts && (c == '"' || c == '\''):
			s.quote = c
		case starts && (c == '|' || c == '>') && len(s.open) == 0:
			s.block = indentOf(line) + 1
			return
		case (starts || len(s.open) > 0) && (c == '[' || c == '{'):
			s.open = append(s.open, bracket{c, base + i})
		case len(s.open) > 0 && (c == ']' || c == '}'):
			s.open = s.open[:len(s.open)-1]
		}
		starts = s.startsAfter(line, i, starts)
	}
}

// startsAfter reports whether a value may begin after the character line[i]. The parameter before says whether
// a value may begin before that character.
func (s *bracketScanner) startsAfter(line []byte, i int, before bool) bool {
	switch line[i] {
	case ' ', '\t', '\n', '\r':
		return before || i > 0 && line[i-1] == ':'
	case '-', '?':
		return before
	}
	return len(s.open) > 0 && strings.IndexByte(",[{:", line[i]) >= 0
}
