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

// format is the version of the lines. A journal with another version is not used.
const format = 1

// maxLine is the maximum length of a line in bytes. It is four times the default of --max-file-bytes, because many
// characters are escaped in a line. A longer line counts as damaged.
const maxLine = 64 << 20

// line is the content of one line of a journal. In the file, a line is a checksum, a blank and the JSON of this
// struct. The checksum is the CRC-32C of the JSON, as eight hexadecimal digits. The first line has a Format,
// and the line of an object has a Key. After the lines of each change there is a line with a Commit.
type line struct {
	Format      int    `json:"format,omitempty"`
	Root        string `json:"root,omitempty"` // quoted as in Go, like Path, because they may be no UTF-8
	Fingerprint string `json:"fingerprint,omitempty"`

	Key   *manifest.Key `json:"key,omitempty"`
	Path  string        `json:"path,omitempty"` // "" if the object is no longer served
	Line  int           `json:"line,omitempty"`
	Since *time.Time    `json:"since,omitempty"`
	Text  *string       `json:"text,omitempty"`

	Checked *store.Checked `json:"checked,omitempty"` // as in store.Saved; nil in lines of an older gatefold

	Commit *int `json:"commit,omitempty"` // number of lines since the previous commit
}

const crcDigits = 8

// decode fills in the line from its text. It returns false if the text is damaged.
func (l *line) decode(text []byte) bool {
	return len(text) > crcDigits && bytes.Equal(text[:crcDigits], crc(text[crcDigits+1:])) &&
		json.Unmarshal(text[crcDigits+1:], l) == nil
}

// crc returns the checksum of a text, as eight hexadecimal digits.
func crc(text []byte) []byte {
	return fmt.Appendf(nil, "%0*x", crcDigits, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// writing writes lines. After the first error it writes nothing more.
type writing struct {
	out    *bufio.Writer
	buffer bytes.Buffer
	size   int64
	err    error
}

// line writes one line.
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

// header writes the first line of a journal.
func (w *writing) header(o Options) {
	w.line(line{Format: format, Root: strconv.Quote(o.Root), Fingerprint: o.Fingerprint()})
}

// record writes the line of an object.
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

// commit writes the line that ends a change. The parameter lines is the number of objects in the change.
func (w *writing) commit(lines int) { w.line(line{Commit: &lines}) }

// flush writes what is buffered. It returns the first error of all writes.
func (w *writing) flush() error {
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}
