package store

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The parser names no column, and often the wrong line: the first line of the surrounding mapping, or the last
// line of the document. So blame searches for the place of a mistake. It parses only the first n bytes of the
// text, for different n. The mistake is at the end of the shortest such beginning that the parser rejects for
// the same reason as the whole text.

// blameBudget is how many bytes the search for the place of one mistake may parse, after a first pass over the
// text. If the text is longer than blameBudget, there is no search.
const blameBudget = 2 << 20

// blamer searches a text for the mistake for which the parser rejects the text. Its field reason is the
// parser's error without the line number. Its field budget is how many bytes it may still parse.
type blamer struct {
	text   []byte
	reason string
	budget int
}

// blame returns the offset of the mistake for which the parser rejects text with err. It does not search a text that
// is longer than blameBudget: it returns the offset at which the line begins that err names. The search parses at
// most blameBudget bytes in total. If it stops because of this limit, the result may be after the mistake.
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

// within searches one line for the mistake, between the offsets begin and end, and returns the offset of the
// mistake. The parser rejects text[:end] for b.reason, but it does not reject text[:begin] for this reason. The
// result is the offset at which a character begins.
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
	s := &slowReader{rest: withoutVersion(b.text)}
	_, _ = parseFrom(s) // it fails again; only the number of bytes read counts
	return len(b.text) - len(s.rest)
}

// rejects reports whether the parser rejects the first n bytes for b.reason, the same reason as the whole text.
// It returns false if n is 0, or if the budget is spent, so that each search ends.
func (b *blamer) rejects(n int) bool {
	b.budget -= n
	if n == 0 || b.budget < 0 {
		return false
	}
	_, err := parseYAML(b.text[:n])
	return err != nil && reasonOf(err) == b.reason
}

// slowReader is an io.Reader that returns a text one byte at a time, so that the parser reads no further than
// necessary.
type slowReader struct{ rest []byte }

// Read reads the next byte. It returns 0 and io.EOF at the end of the text.
func (s *slowReader) Read(into []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	into[0], s.rest = s.rest[0], s.rest[1:]
	return 1, nil
}

// reasonOf returns the text of a parser's error without the prefix "yaml: " and the line number.
func reasonOf(err error) string {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(reason, "line "); ok {
		_, reason, _ = strings.Cut(rest, ": ")
	}
	return reason
}

// lineIn returns the line number in the parser's error, 1 if it has none.
func lineIn(err error) int {
	line := 1
	_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
	return line
}

// lineStart returns the offset at which a line begins. Lines count from 1. If the text has fewer lines, it
// returns the offset at which the last line begins.
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
