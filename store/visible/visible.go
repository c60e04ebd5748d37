// Package visible makes texts from other people safe to show in a terminal or log viewer. Every character is
// visible, and no escape sequence has an effect. Such texts are the names of files, objects and nodes. They may
// contain escape sequences, line ends, and characters that change the direction of writing.
package visible

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns text on one line. Invisible characters become their JSON escapes, such as \u001b. Bytes that are
// not UTF-8 become U+FFFD.
func Text(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	return string(appendVisible(nil, []byte(text), ""))
}

// hidden reports whether r must not be shown as it is. That is so if r is invisible, or if r is U+FFFD, which stands
// for a byte that is not UTF-8.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// appendVisible appends the visible form of a text (see Text) to its first parameter, and returns the result.
// Characters that the parameter keep contains are appended as they are.
func appendVisible(to, text []byte, keep string) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !hidden(r), strings.ContainsRune(keep, r):
			to = append(to, text[:size]...)
		case r == utf8.RuneError:
			to = append(to, string(utf8.RuneError)...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			to = fmt.Appendf(to, `\u%04x\u%04x`, high, low)
		default:
			to = fmt.Appendf(to, `\u%04x`, r)
		}
		text = text[size:]
	}
	return to
}

// Writer passes texts on to another writer. It replaces invisible characters as the function Text does, but keeps
// line ends and tabs. JSON keeps its meaning: invisible characters occur only in its strings, and become JSON escapes
// of the same characters. Several goroutines may use a Writer.
type Writer struct {
	// Color is true if ANSI color sequences are written unchanged.
	Color bool

	color *regexp.Regexp // matches ANSI color sequences
	mu    sync.Mutex
	to    io.Writer
	rest  []byte // an incomplete UTF-8 character at the end of the last Write
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{to: w, color: regexp.MustCompile("\x1b\\[[0-9;]*m")}
}

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write implements io.Writer. It keeps the bytes of an incomplete UTF-8 character until the next call.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 && bytes.IndexFunc(text, func(r rune) bool { return hidden(r) && r != '\n' && r != '\t' }) < 0 {
		return w.to.Write(text)
	}
	whole := append(w.rest, text...)
	end := len(whole)
	for n := 1; n < utf8.UTFMax && n <= len(whole); n++ {
		if last := whole[len(whole)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= n
			}
			break
		}
	}
	var out []byte
	for _, part := range w.parts(whole[:end]) {
		if part.color {
			out = append(out, part.text...)
		} else {
			out = appendVisible(out, part.text, "\n\t")
		}
	}
	w.rest = append([]byte(nil), whole[end:]...)
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// part is a part of a text. color is true if the part is an ANSI color sequence.
type part struct {
	text  []byte
	color bool
}

// parts splits text into ANSI color sequences and the text between them. If w.Color is false, it returns text
// as one part.
func (w *Writer) parts(text []byte) []part {
	if !w.Color {
		return []part{{text: text}}
	}
	var parts []part
	at := 0
	for _, found := range w.color.FindAllIndex(text, -1) {
		parts = append(parts, part{text: text[at:found[0]]}, part{text: text[found[0]:found[1]], color: true})
		at = found[1]
	}
	return append(parts, part{text: text[at:]})
}
