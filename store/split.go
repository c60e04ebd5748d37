package store

import (
	"bytes"
)

// part is the text of one document of a file, as the file has it.
type part struct {
	text []byte
	line int // the line of the file at which text begins, from 1
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// splitDocuments splits a YAML file into its documents at every line that begins with the marker "---" or "..."
// (hasMarker). In YAML no value, not even a block scalar, can contain such a line. The file is not parsed, so a
// broken document does not hide the documents after it. Documents with only blank lines and comments are left out.
func splitDocuments(content []byte) []part {
	s := splitter{rest: bytes.TrimPrefix(content, byteOrderMark), line: 1}
	for len(s.rest) > 0 {
		s.step()
	}
	s.cut()
	return s.parts
}

// splitter reads a file line by line. text is the current document so far, and rest is the text of the file
// after it. Both are slices of the file's bytes.
type splitter struct {
	parts []part
	text  []byte
	rest  []byte
	first int // the line at which text begins
	line  int // the line at which rest begins

	content    bool // text has something besides blanks, comments and directives
	directives bool // text has a %YAML or %TAG line, which belongs to the next "---"
}

// step reads one line. A line "---" or "..." ends the current document, and any other line is added to it. There
// are two exceptions: a "---" after directives belongs to the document that the directives begin, and a "---"
// with text in the same line begins the next document.
func (s *splitter) step() {
	line := s.rest
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end+1]
	}
	switch {
	case hasMarker(line, "---"):
		if s.content || !s.directives {
			s.cut()
		}
		s.directives = false
		inline := !isBlank(line[3:])
		if !inline && len(s.text) == 0 {
			s.skip(len(line))
			return
		}
		s.content = s.content || inline
	case hasMarker(line, "..."):
		s.cut()
		s.skip(len(line))
		return
	case line[0] == '%' && !s.content:
		s.directives = true
	case !isBlank(line):
		s.content = true
	}
	s.take(len(line))
}

// take adds the next line, with n bytes, to the current document.
func (s *splitter) take(n int) {
	if len(s.text) == 0 {
		s.text, s.first = s.rest[:0], s.line
	}
	s.text = s.text[:len(s.text)+n]
	s.skip(n)
}

// skip skips the next line, with n bytes.
func (s *splitter) skip(n int) {
	s.rest = s.rest[n:]
	s.line++
}

// cut ends the current document, and adds it to the parts unless it is empty.
func (s *splitter) cut() {
	if s.content || s.directives {
		s.parts = append(s.parts, part{s.text[:len(s.text):len(s.text)], s.first})
	}
	s.text, s.content, s.directives = nil, false, false
}

// hasMarker reports whether the line begins with the marker, followed by a blank or nothing.
func hasMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isBlank reports whether the line is empty, or has only blanks and a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}
