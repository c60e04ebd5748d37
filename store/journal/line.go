package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// format is the version of the lines. A journal of another one is not used.
const format = 1

// maxLine bounds a line: the largest document that is read, with every
// character escaped.
const maxLine = 64 << 20

// line is one line of a journal: the checksum of the rest (CRC-32C, eight
// hexadecimal digits), a blank, and this as JSON. The first has a Format; then
// come lines with a Key, and after those of each change one with a Commit.
type line struct {
	Format      int    `json:"format,omitempty"`
	Root        string `json:"root,omitempty"` // quoted as in Go, as is Path: both may be no UTF-8
	Fingerprint string `json:"fingerprint,omitempty"`

	Key   *manifest.Key `json:"key,omitempty"`
	Path  string        `json:"path,omitempty"` // none: the object serves no more
	Line  int           `json:"line,omitempty"`
	Since *time.Time    `json:"since,omitempty"`
	Text  *string       `json:"text,omitempty"`

	Checked *store.Checked `json:"checked,omitempty"` // of an earlier gatefold: none

	Commit *int `json:"commit,omitempty"` // lines since the commit before
}

const crcDigits = 8

// decode reads the text of a line; false where it is damaged.
func (l *line) decode(text []byte) bool {
	return len(text) > crcDigits && bytes.Equal(text[:crcDigits], crc(text[crcDigits+1:])) &&
		json.Unmarshal(text[crcDigits+1:], l) == nil
}

func crc(text []byte) []byte {
	return fmt.Appendf(nil, "%0*x", crcDigits, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// writing writes lines. The first error ends it.
type writing struct {
	out    *bufio.Writer
	buffer bytes.Buffer
	size   int64
	err    error
}

func (w *writing) line(l line) {
	w.buffer.Reset()
	encoder := json.NewEncoder(&w.buffer)
	encoder.SetEscapeHTML(false)
	if w.err = errors.Join(w.err, encoder.Encode(l)); w.err != nil {
		return
	}
	text := w.buffer.Bytes() // with its line break
	_, err := w.out.Write(append(crc(text[:len(text)-1]), ' '))
	_, err2 := w.out.Write(text)
	w.err = errors.Join(err, err2)
	w.size += int64(crcDigits + 1 + len(text))
}

func (w *writing) header(o Options) {
	w.line(line{Format: format, Root: strconv.Quote(o.Root), Fingerprint: o.Fingerprint()})
}

func (w *writing) record(saved store.Saved) {
	l := line{Key: &saved.Key, Checked: saved.Checked}
	if saved.Path != "" {
		l.Path, l.Line = strconv.Quote(saved.Path), saved.Line
	}
	if saved.Text != nil {
		text := string(saved.Text)
		l.Text = &text
	}
	if !saved.Since.IsZero() {
		l.Since = &saved.Since
	}
	w.line(l)
}

func (w *writing) commit(lines int) { w.line(line{Commit: &lines}) }

func (w *writing) flush() error {
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}
