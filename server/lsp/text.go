package lsp

import (
	"bytes"
	"sort"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is the unit in which a position counts characters.
type encoding string

const (
	utf8Units  encoding = "utf-8"  // bytes
	utf16Units encoding = "utf-16" // every client supports it
)

// text is a document with the lines that editors see. A line ends with LF, CR LF or CR.
type text struct {
	content []byte
	starts  []int // the offsets at which lines begin
	feeds   []int // the same if only LF ends a line, as gatefold counts lines; nil if equal to starts
	units   encoding
}

// newText returns a text with the given content. units is the unit of positions.
func newText(content []byte, units encoding) *text {
	t := &text{content: content, starts: []int{0}, units: units}
	feeds, lone := []int{0}, false
	for at := 0; ; at++ {
		next := bytes.IndexAny(content[at:], "\r\n")
		if next < 0 {
			break
		}
		at += next
		if content[at] == '\n' {
			feeds = append(feeds, at+1)
		} else if at+1 < len(content) && content[at+1] == '\n' {
			continue
		} else {
			lone = true
		}
		t.starts = append(t.starts, at+1)
	}
	if lone {
		t.feeds = feeds
	}
	return t
}

// line returns a line without its end. The first line is 0. It returns nil if there is no such line.
func (t *text) line(number int) []byte {
	if number < 0 || number >= len(t.starts) {
		return nil
	}
	end := len(t.content)
	if number+1 < len(t.starts) {
		end = t.starts[number+1]
	}
	return bytes.TrimRight(t.content[t.starts[number]:end], "\r\n")
}

// offset returns the offset of a position. If the position is after the end of its line, it returns the end of
// the line. If the line is outside of the document, it returns the beginning or the end of the document.
func (t *text) offset(at position) int {
	switch {
	case at.Line < 0:
		return 0
	case at.Line >= len(t.starts):
		return len(t.content)
	}
	start, line := t.starts[at.Line], t.line(at.Line)
	if t.units == utf8Units {
		return start + min(max(at.Character, 0), len(line))
	}
	n := 0
	for units := 0; n < len(line) && units < at.Character; {
		r, size := utf8.DecodeRune(line[n:])
		n += size
		units += max(utf16.RuneLen(r), 1)
	}
	return start + n
}

// position returns the position of an offset. An offset outside of the document counts as its beginning or end.
func (t *text) position(offset int) position {
	offset = min(max(offset, 0), len(t.content))
	number := sort.SearchInts(t.starts, offset+1) - 1
	part := t.content[t.starts[number]:offset]
	at := position{Line: number, Character: len(part)}
	if t.units == utf8Units {
		return at
	}
	at.Character = 0
	for len(part) > 0 {
		r, size := utf8.DecodeRune(part)
		part = part[size:]
		at.Character += max(utf16.RuneLen(r), 1)
	}
	return at
}

// span returns the range from offset start to offset end.
func (t *text) span(start, end int) span { return span{t.position(start), t.position(end)} }

// place returns the offset of the line and column in a manifest.Problem. Both count from 1, and 0 means 1.
// Lines end only with LF, and columns count characters. A line after the last one is the end of the document.
func (t *text) place(line, column int) int {
	starts := t.starts
	if t.feeds != nil {
		starts = t.feeds
	}
	if line > len(starts) {
		return len(t.content)
	}
	at := starts[max(line, 1)-1]
	for n := 1; n < column && at < len(t.content) && t.content[at] != '\n'; n++ {
		_, size := utf8.DecodeRune(t.content[at:])
		at += size
	}
	return at
}

// token returns the offset of the end of the key or value that begins at the offset start. The end is on the
// same line.
func (t *text) token(start int) (end int) {
	rest := t.content[start:]
	if stop := bytes.IndexAny(rest, "\r\n"); stop >= 0 {
		rest = rest[:stop]
	}
	if len(rest) == 0 {
		return start
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		return start + quotedLength(rest, quote)
	}
	for i, c := range rest {
		blank := i+1 == len(rest) || bytes.IndexByte([]byte(" \t,]}"), rest[i+1]) >= 0
		if c == ':' && blank || bytes.IndexByte([]byte(",[]{}"), c) >= 0 || (c == ' ' || c == '\t') && i+1 < len(rest) && rest[i+1] == '#' {
			return start + max(len(bytes.TrimRight(rest[:i], " \t")), 1)
		}
	}
	return start + max(len(bytes.TrimRight(rest, " \t")), 1)
}

// quotedLength returns the length of the quoted scalar at the beginning of a line. Without a closing quote, it
// is the length of the line.
func quotedLength(line []byte, quote byte) int {
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return len(line)
}
