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

// blamer finds the place of the mistake for which the parser rejects a text.
type blamer struct {
	text   []byte
	reason string
	budget int
}

// blame returns the offset at which the mistake is visible.
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

// within searches one line. The mistake is between begin and end.
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

// consumed returns the number of bytes that the parser reads before it rejects the text.
func (b *blamer) consumed() int {
	s := &slowReader{rest: b.text}
	_, _ = parseYAML(s) // it fails as before; what counts is how far it came
	return len(b.text) - len(s.rest)
}

// rejects reports whether the parser rejects the first n bytes for the same reason. It returns
// false after the budget is spent, so that searches end.
func (b *blamer) rejects(n int) bool {
	b.budget -= n
	if n == 0 || b.budget < 0 {
		return false
	}
	_, err := parseYAML(bytes.NewReader(b.text[:n]))
	return err != nil && reasonOf(err) == b.reason
}

// slowReader returns one byte at a time, so that the parser reads no further than necessary.
type slowReader struct{ rest []byte }

func (s *slowReader) Read(into []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	into[0], s.rest = s.rest[0], s.rest[1:]
	return 1, nil
}

// reasonOf returns the parser's error without the line number.
func reasonOf(err error) string {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(reason, "line "); ok {
		_, reason, _ = strings.Cut(rest, ": ")
	}
	return reason
}

// lineIn returns the line in the parser's error, 1 if it has none.
func lineIn(err error) int {
	line := 1
	_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
	return line
}

// lineStart returns the offset of a line, or of the last line if there are fewer.
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
