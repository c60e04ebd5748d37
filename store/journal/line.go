package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gatefold/gatefold/store"
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

	Key   *store.Key `json:"key,omitempty"`
	Path  string     `json:"path,omitempty"` // none: the object serves no more
	Line  int        `json:"line,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Text  *string    `json:"text,omitempty"`

	Checked *store.Checked `json:"checked,omitempty"` // of an earlier gatefold: none

	Commit *int `json:"commit,omitempty"` // lines since the commit before
}

const crcDigits = 8

func crc(text []byte) []byte {
	return fmt.Appendf(nil, "%0*x", crcDigits, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// writing writes lines. The first error ends it.
type writing struct {
	out     *bufio.Writer
	buffer  bytes.Buffer
	size    int64
	lengths []int64 // of records
	err     error
}

func (w *writing) line(l line) int64 {
	w.buffer.Reset()
	encoder := json.NewEncoder(&w.buffer)
	encoder.SetEscapeHTML(false)
	if w.err = errors.Join(w.err, encoder.Encode(l)); w.err != nil {
		return 0
	}
	text := w.buffer.Bytes() // with its line break
	_, err := w.out.Write(append(crc(text[:len(text)-1]), ' '))
	_, err2 := w.out.Write(text)
	w.err = errors.Join(err, err2)
	length := int64(crcDigits + 1 + len(text))
	w.size += length
	return length
}

func (w *writing) header(o Options) {
	w.line(line{Format: format, Root: strconv.Quote(o.Root), Fingerprint: o.Fingerprint})
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
	w.lengths = append(w.lengths, w.line(l))
}

func (w *writing) commit(lines int) { w.line(line{Commit: &lines}) }

func (w *writing) flush() error {
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}

// found is what was read of one object.
type found struct {
	saved  store.Saved
	length int64 // of its line
}

// reading reads a journal.
type reading struct {
	options Options
	in      *bufio.Reader
	saved   map[store.Key]found

	staged  []found // since the last commit
	bytes   int64   // of texts, outdated ones left out
	checked int64   // bytes of what stands beside them
	damaged int     // lines before the last commit
	broken  int     // lines since
}

// all reads everything. end is where the last commit ends.
func (r *reading) all() (content Content, end int64) {
	head, at, ok := r.next()
	root, _ := strconv.Unquote(head.Root)
	switch {
	case !ok || head.Format == 0:
		return Content{Problem: nameOfJournal + ": it is none"}, 0
	case head.Format != format:
		return Content{Problem: fmt.Sprintf("%s: it has format %d, and %d is known", nameOfJournal, head.Format, format)}, 0
	case root != r.options.Root:
		return Content{Problem: fmt.Sprintf("%s: it is of the folder %q, not of %q", nameOfJournal, root, r.options.Root)}, 0
	}
	end = at
	for {
		l, length, ok := r.next()
		if length == 0 {
			break
		}
		at += length
		if !ok || !r.take(l, length) {
			r.broken++
		} else if l.Commit != nil {
			end = at
		}
		if r.bytes > r.options.MaxBytes {
			return Content{Problem: fmt.Sprintf("%s: its texts have more than %d bytes", nameOfJournal, r.options.MaxBytes)}, 0
		}
	}
	if r.damaged > 0 {
		content.Problem = fmt.Sprintf("%s: %d of its lines are damaged", nameOfJournal, r.damaged)
	}
	content.Sound = head.Fingerprint != "" && head.Fingerprint == r.options.Fingerprint
	for _, key := range slices.SortedFunc(maps.Keys(r.saved), store.CompareKeys) {
		content.Saved = append(content.Saved, r.saved[key].saved)
	}
	return content, end
}

// take books one line, false when it means nothing.
func (r *reading) take(l line, length int64) bool {
	switch {
	case l.Commit != nil:
		for _, f := range r.staged {
			before := r.saved[f.saved.Key].saved
			r.bytes -= int64(len(before.Text))
			r.checked -= int64(before.Checked.Len())
			r.saved[f.saved.Key] = f
			if f.saved.Path == "" {
				delete(r.saved, f.saved.Key)
			}
		}
		r.damaged, r.broken, r.staged = r.damaged+r.broken, 0, nil
		return true
	case l.Key == nil || l.Key.IsZero():
		return false
	}
	saved := store.Saved{Key: *l.Key, Line: l.Line, Checked: l.Checked}
	if l.Path != "" {
		path, err := strconv.Unquote(l.Path)
		if err != nil || path == "" {
			return false
		}
		saved.Path = path
	}
	if l.Text != nil {
		saved.Text = []byte(*l.Text)
	}
	if l.Since != nil {
		saved.Since = *l.Since
	}
	if r.checked+int64(saved.Checked.Len()) > r.options.MaxBytes {
		saved.Checked = nil // the text says the same
	}
	r.bytes += int64(len(saved.Text))
	r.checked += int64(saved.Checked.Len())
	r.staged = append(r.staged, found{saved, length})
	return true
}

// next reads one line. length is 0 at the end, where a line without its end was
// being written; ok is false for a line that is damaged.
func (r *reading) next() (l line, length int64, ok bool) {
	text, length, whole := r.read()
	if !whole || len(text) <= crcDigits || !bytes.Equal(text[:crcDigits], crc(text[crcDigits+1:])) {
		return line{}, length, false
	}
	if err := json.Unmarshal(text[crcDigits+1:], &l); err != nil {
		return line{}, length, false
	}
	return l, length, true
}

// read gives the text of a line, without its break, unless it is too long.
func (r *reading) read() (text []byte, length int64, whole bool) {
	for {
		piece, err := r.in.ReadSlice('\n')
		length += int64(len(piece))
		if length <= maxLine {
			text = append(text, piece...)
		}
		switch {
		case err == nil:
			return text[:max(len(text)-1, 0)], length, length <= maxLine
		case errors.Is(err, io.EOF):
			return nil, 0, false
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, false // it cannot be read any further
		}
	}
}
