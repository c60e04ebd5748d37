package journal

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// found is one object as it was read from the journal.
type found struct {
	saved  store.Saved
	length int64 // of its line, in bytes
}

// reading is a journal that is being read, and what was read so far.
type reading struct {
	options Options
	saved   map[manifest.Key]found

	staged  []found // the objects since the last commit
	bytes   int64   // size of the field Text of all objects in saved and staged
	checked int64   // size of the field Checked of all objects in saved and staged
	damaged int     // number of damaged lines before the last commit
	broken  int     // number of damaged lines after the last commit
}

// all reads the whole journal from in. It returns the content, and the offset after the last commit (the line
// that ends a change). If lines before that offset are damaged, the content has a Problem, and the objects of
// the other lines. If the journal cannot be used at all, the content has only a Problem, and end is 0.
func (r *reading) all(in io.Reader) (content Content, end int64) {
	next, stop := iter.Pull(linesOf(in))
	defer stop()
	first, _ := next()
	head, at, ok := first.line, first.length, first.sound
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
	for l, more := next(); more; l, more = next() {
		at += l.length
		if !l.sound || !r.take(l.line, l.length) {
			r.broken++
		} else if l.line.Commit != nil {
			end = at
		}
		if r.bytes > r.options.MaxBytes {
			return Content{Problem: fmt.Sprintf("%s: its texts have more than %d bytes", nameOfJournal, r.options.MaxBytes)}, 0
		}
	}
	if r.damaged > 0 {
		content.Problem = fmt.Sprintf("%s: %d of its lines are damaged", nameOfJournal, r.damaged)
	}
	content.Sound = head.Fingerprint != "" && head.Fingerprint == r.options.Fingerprint()
	for _, key := range slices.SortedFunc(maps.Keys(r.saved), manifest.CompareKeys) {
		content.Saved = append(content.Saved, r.saved[key].saved)
	}
	return content, end
}

// take processes one line of the journal. The parameter length is the size of the line in bytes. If the line has an
// object, take adds the object to r.staged. If the fields Checked of all objects would then have more than
// Options.MaxBytes in total, take adds the object without its Checked. If the line is a commit, take moves the
// objects in r.staged to r.saved, and removes from r.saved the objects that are no longer served. It returns false
// if the line is neither an object nor a commit, or has an invalid path.
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
		saved.Checked = nil // the object can be read from its text
	}
	r.bytes += int64(len(saved.Text))
	r.checked += int64(saved.Checked.Len())
	r.staged = append(r.staged, found{saved, length})
	return true
}
