package watcher

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// madeOf is the last Tree that a reader made, and what has changed since, so
// that the next one costs what changed.
type madeOf struct {
	files   Files
	skipped []Skip
	// changed holds the paths of files that may be other ones in the next Tree.
	changed map[string]bool
	// whole tells that more than files changed: everything is walked.
	whole bool
}

// note takes over what a look found.
func (m *madeOf) note(changes []change, refused bool) {
	m.whole = m.whole || refused
	for _, c := range changes {
		if c.kind == flipped || c.path == "" || strings.HasSuffix(c.path, "/") {
			m.whole = true
			return
		}
		if m.changed == nil {
			m.changed = map[string]bool{}
		}
		m.changed[c.path] = true
	}
}

// loading says what of a Tree is not as it was found.
type loading struct {
	// keep adds what vanished a moment ago.
	keep bool
	// hold names the files that are taken as they were; nil is none.
	hold func(path string) bool
}

// tree makes a Tree of what the last look found and reads what changed.
// moving names the files that change at this very moment; they are in the
// Tree with their content before.
func (r *reader) tree(root *os.Root, as loading) (t Tree, moving []string) {
	l := &loader{limits: r.limits, root: root, hold: as.hold}
	if as.keep {
		l.kept = r.kept
	}
	patched := !r.last.whole && l.patch(r.top, &r.last)
	if !patched {
		l.whole(r.top)
	}
	left := map[string]bool{} // what the next Tree has to see to
	for _, path := range slices.Concat(l.moving, l.held, slices.Collect(maps.Keys(l.kept))) {
		left[path] = true
	}
	for _, path := range r.failed {
		if patched && !r.last.changed[path] {
			l.failed = append(l.failed, path)
		}
	}
	r.failed = l.failed
	r.reads += l.reads
	r.last = madeOf{files: l.files, skipped: l.skipped, changed: left, whole: l.full}
	return Tree{
		Root: r.name, Revision: r.at.revision, Missing: r.top == nil, Files: l.files, Skipped: l.skipped,
	}, l.moving
}

// loader makes the files of a Tree of what was listed, and reads what it does
// not have.
type loader struct {
	limits Limits
	root   *os.Root
	hold   func(path string) bool
	kept   map[string]*loaded // what vanished a moment ago and stays
	reads  int

	files   Files
	skipped []Skip
	full    bool     // there are more files or bytes than the limits allow
	moving  []string // files that change now
	held    []string // files that hold kept as they were
	failed  []string // what the system refused to read
}

// patch changes the last Tree in those files that changed; false when they would
// be too many for the limits.
func (l *loader) patch(top *node, last *madeOf) bool {
	var set []File
	var gone []string
	l.skipped = slices.DeleteFunc(slices.Clone(last.skipped), func(s Skip) bool { return last.changed[s.Path] })
	for _, path := range slices.Sorted(maps.Keys(last.changed)) {
		e := top.find(path)
		switch {
		case e == nil && l.kept[path] != nil:
			set = append(set, File{path, l.kept[path].content, l.kept[path].hash})
		case e != nil && l.load(e):
			set = append(set, File{e.path, e.have.content, e.have.hash})
		default:
			gone = append(gone, path)
		}
	}
	l.files = last.files.With(set, gone)
	l.sortSkipped()
	return l.files.Len() <= l.limits.Files && l.files.Bytes() <= l.limits.TreeBytes
}

// whole makes everything anew.
func (l *loader) whole(top *node) {
	l.skipped, l.held, l.moving, l.failed = nil, nil, nil, nil
	w := &walk{loader: l}
	if top != nil {
		w.walk(top)
	}
	var kept []File
	for path, k := range l.kept {
		kept = append(kept, File{path, k.content, k.hash})
	}
	l.files = sortedFiles(w.files).With(kept, nil)
	l.sortSkipped()
}

// walk is a walk over all that was listed.
type walk struct {
	*loader
	files []File
	bytes int64
}

// walk adds everything below n.
func (w *walk) walk(n *node) {
	for _, e := range n.entries {
		if e.skip != "" || !e.isDir() {
			w.add(e)
		}
		if e.sub != nil {
			w.walk(e.sub)
		}
	}
}

// add adds e, as far as the limits allow.
func (w *walk) add(e *entry) {
	if e.skip == "" && (w.bytes+e.sig.size > w.limits.TreeBytes || len(w.files) >= w.limits.Files) {
		e.have, w.full = nil, true
		w.skip(e, TreeTooLarge, fmt.Sprintf("with it the folder has more than %d bytes or %d files",
			w.limits.TreeBytes, w.limits.Files))
		return
	}
	if e.skip == "" {
		w.bytes += e.sig.size
	}
	if w.load(e) {
		w.files = append(w.files, File{e.path, e.have.content, e.have.hash})
	}
}

func (l *loader) sortSkipped() {
	slices.SortFunc(l.skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
}

func (l *loader) skip(e *entry, why SkipReason, detail string) {
	l.skipped = append(l.skipped, Skip{strings.TrimSuffix(e.path, "/"), why, detail})
}

// load reads e unless its content is known, it changes at this moment or is
// held; then it stays as it was. It returns false when there is no content.
func (l *loader) load(e *entry) bool {
	switch {
	case e.skip != "":
		l.skip(e, e.skip, e.detail)
		return false
	case e.have != nil && e.have.sig == e.sig:
		return true
	case l.hold != nil && l.hold(e.path):
		l.held = append(l.held, e.path)
		return e.have != nil
	}
	fresh, err := l.read(e)
	switch {
	case errors.Is(err, errMoving) || errors.Is(err, fs.ErrNotExist):
		l.moving = append(l.moving, e.path)
	case err != nil:
		l.failed = append(l.failed, e.path)
		l.skip(e, Unreadable, reason(err).Error())
		return false
	default:
		e.have = fresh
	}
	return e.have != nil
}
