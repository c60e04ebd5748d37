package store

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerptWidth is how many characters of a line an excerpt shows.
const excerptWidth = 100

// maxExcerptLine is the length in bytes up to which a line is shown. Counting the characters of a longer line
// takes time.
const maxExcerptLine = 16 * 1024

// excerpt returns the line of a place in a text, and below it carets that mark the place. It returns "" if the
// line is longer than maxExcerptLine.
func excerpt(text []byte, at place) string { return excerptLine(lineOf(text, at.line), at) }

// excerptLine returns at most excerptWidth characters of a line around a place, and below them carets that mark
// the place. It returns "" if the line is longer than maxExcerptLine.
func excerptLine(line []byte, at place) string {
	if len(line) > maxExcerptLine {
		return ""
	}
	return marked(bytes.TrimSuffix(line, []byte{'\r'}), at)
}

// marked returns the visible part of a line (window), and below it carets that mark the place. The parameter
// text has no line ending, and its length is not checked.
func marked(text []byte, at place) string {
	line, column := window(text, at.column)
	var shown, marks strings.Builder
	n := 0
	for _, r := range line {
		blank := ' '
		switch {
		case r == '\t':
			blank = r
		case !unicode.IsPrint(r):
			r = unicode.ReplacementChar
		}
		shown.WriteRune(r)
		if n++; n < column {
			marks.WriteRune(blank)
		}
	}
	rest := n - column + 1
	if strings.HasSuffix(line, "…") {
		rest--
	}
	marks.WriteString(strings.Repeat("^", max(1, min(at.width, rest))))
	return shown.String() + "\n" + marks.String()
}

// window returns the part of a line around a column, at most excerptWidth characters. "…" replaces what is left out
// at the beginning and at the end. The result columnInPart is the column that the character at the given column has
// within this part.
func window(line []byte, column int) (part string, columnInPart int) {
	count := utf8.RuneCount(line)
	column = min(max(column, 1), count+1)
	from := 0
	if column > excerptWidth*3/4 {
		from = column - excerptWidth/2
	}
	start := skipRunes(line, from)
	end := start + skipRunes(line[start:], excerptWidth)
	part, columnInPart = string(line[start:end]), column-from
	if end < len(line) {
		part += "…"
	}
	if from > 0 {
		part, columnInPart = "…"+part, columnInPart+1
	}
	return part, columnInPart
}

// skipRunes returns the offset after the first n characters, or the length of a shorter line.
func skipRunes(line []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(line); n-- {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return at
}

// lineOf returns a line of the text without its line feed. Lines count from 1. It returns nil if there is no
// such line.
func lineOf(text []byte, number int) []byte {
	for ; number > 1; number-- {
		_, after, found := bytes.Cut(text, []byte{'\n'})
		if !found {
			return nil
		}
		text = after
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return line
}
