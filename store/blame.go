package store

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The parser names no column, and often the wrong line: that where the
// surrounding mapping begins, or the last of the document. So the place of a
// mistake is searched: it is where the text, cut off, begins to be rejected for
// the same reason as the whole.

// blameBudget bounds the bytes that the search for one mistake parses.
const blameBudget = 2 << 20

// blamer searches the place of the mistake that the parser has given a reason for.
type blamer struct {
	text   []byte
	reason string
	budget int
}

// blame returns the offset in the text at which the mistake shows.
func blame(text []byte, err error) int {
	if len(text) > blameBudget {
		return lineStart(text, lineIn(err))
	}
	b := &blamer{text, reasonOf(err), blameBudget}
	end := b.consumed()
	if len(text) <= b.budget && !b.rejects(end) {
		end = len(text)
	}
	begin := end
	for begin > 0 {
		begin = bytes.LastIndexByte(text[:begin-1], '\n') + 1
		if !b.rejects(begin) {
			break
		}
		end = begin
	}
	return b.within(begin, end)
}

// within searches one line, which begins before the mistake and ends after it.
func (b *blamer) within(begin, end int) int {
	for end-begin > 64 {
		if middle := (begin + end) / 2; b.rejects(middle) {
			end = middle
		} else {
			begin = middle
		}
	}
	for end-begin > 1 && b.rejects(end-1) {
		end--
	}
	at := max(begin, end-1)
	for at > begin && !utf8.RuneStart(b.text[at]) {
		at--
	}
	return at
}

// consumed returns how much of the text the parser looks at before it rejects it.
func (b *blamer) consumed() int {
	s := &slowReader{rest: b.text}
	_, _ = parseYAML(s) // it fails as before; what counts is how far it came
	return len(b.text) - len(s.rest)
}

// rejects reports whether the first n bytes are rejected for the same reason. When
// the budget is spent nothing is, so that searches end.
func (b *blamer) rejects(n int) bool {
	b.budget -= n
	if n == 0 || b.budget < 0 {
		return false
	}
	_, err := parseYAML(bytes.NewReader(b.text[:n]))
	return err != nil && reasonOf(err) == b.reason
}

// slowReader gives a byte at a time, so that its reader can read no further
// ahead than it must.
type slowReader struct{ rest []byte }

func (s *slowReader) Read(into []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	into[0], s.rest = s.rest[0], s.rest[1:]
	return 1, nil
}

// reasonOf is the parser's error without the line.
func reasonOf(err error) string {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(reason, "line "); ok {
		_, reason, _ = strings.Cut(rest, ": ")
	}
	return reason
}

// lineIn is the line that the parser's error names; 1 when it names none.
func lineIn(err error) int {
	line := 1
	_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
	return line
}

// lineStart returns the offset at which a line begins, of the last when there
// are fewer.
func lineStart(text []byte, line int) int {
	start := 0
	for ; line > 1; line-- {
		end := bytes.IndexByte(text[start:], '\n')
		if end < 0 || start+end+1 == len(text) {
			break
		}
		start += end + 1
	}
	return start
}
