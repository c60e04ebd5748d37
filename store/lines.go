package store

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// YAML ends a line at some characters that no editor takes as a line end: a CR alone, NEL (U+0085), U+2028 and
// U+2029. The functions of this file convert the parser's lines to lines that end only at LF.

// correctLines converts the line and column of each node of a document from the parser's lines, which end as
// YAML says, to lines that end only at LF.
func correctLines(root *yaml.Node, text []byte) {
	if !hasOddBreak(text) {
		return
	}
	var starts []place // places at which the parser's lines begin
	here := place{1, 1, 1}
	for rest := text; len(rest) > 0; {
		starts = append(starts, here)
		line := rest[:yamlLine(rest)]
		rest = rest[len(line):]
		if here.column += utf8.RuneCount(line); line[len(line)-1] == '\n' {
			here = place{here.line + 1, 1, 1}
		}
	}
	correctNode(root, append(starts, here))
}

// hasOddBreak reports whether a text has a line break that is not LF or CRLF.
func hasOddBreak(text []byte) bool {
	return bytes.Count(text, []byte{'\r'}) > bytes.Count(text, []byte("\r\n")) ||
		bytes.Contains(text, []byte("\u0085")) || bytes.Contains(text, []byte("\u2028")) || bytes.Contains(text, []byte("\u2029"))
}

// yamlLine returns the length of the text's first line, with its line break, by YAML's rules.
func yamlLine(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		switch r {
		case '\r':
			if at < len(text) && text[at] == '\n' {
				at++
			}
			return at
		case '\n', '\u0085', '\u2028', '\u2029':
			return at
		}
	}
	return len(text)
}

// correctNode converts the line and column of n and of the nodes in it from the parser's lines to lines that
// end at LF. starts[i] is the place where the parser's line i+1 begins. The last element is the end of the
// text, where an empty value may be.
func correctNode(n *yaml.Node, starts []place) {
	start := starts[min(n.Line, len(starts))-1]
	n.Line, n.Column = start.line, start.column+n.Column-1
	for _, inner := range n.Content {
		correctNode(inner, starts)
	}
}
