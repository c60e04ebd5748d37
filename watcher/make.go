package watcher

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// madeOf is the last Tree of a reader, and what has changed since. With it, the next Tree costs
// only what changed.
type madeOf struct {
	files   Files
	skipped []Skip
	// changed holds the paths of files that may be other ones in the next Tree.
	changed map[string]bool
	// whole is true if more than files changed: everything is walked.
	whole bool
}

// note records the result of a look.
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

// loading is what of a Tree differs from the listing.
type loading struct {
	// keep adds what vanished a moment ago.
	keep bool
	// hold names the files that are taken as they were; nil is none.
	hold func(path string) bool
	// waits says whether a file that a program has open for writing may wait for its
	// end; nil is none.
	waits func(path string) bool
}

// tree makes a Tree from the last look and reads what changed. moving names the files that are
// changing at this moment; the Tree has their last content.
func (r *reader) tree(root *os.Root, as loading) (t Tree, moving []string) {
	l := &loader{limits: r.limits, root: root, hold: as.hold, waits: as.waits}
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
	r.failed, r.open, r.unfinished = l.failed, l.open, l.unfinished
	r.reads += l.reads
	r.last = madeOf{files: l.files, skipped: l.skipped, changed: left, whole: l.full}
	return Tree{
		Root: r.name, Revision: r.at.revision, Missing: r.top == nil, Files: l.files, Skipped: r.withOwn(l.skipped),
	}, l.moving
}

// withOwn adds problems of the folder itself: an IgnoreFile that is not used, and links that are
// not followed.
func (r *reader) withOwn(skipped []Skip) []Skip {
	if r.top == nil || r.ignore.skip == nil && len(r.linkSkips) == 0 {
		return skipped
	}
	all := slices.Concat(skipped, r.linkSkips)
	if r.ignore.skip != nil {
		all = append(all, *r.ignore.skip)
	}
	slices.SortFunc(all, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// loader makes the files of a Tree from a listing, and reads missing content.
type loader struct {
	limits Limits
	root   *os.Root
	hold   func(path string) bool
	waits  func(path string) bool
	kept   map[string]*loaded // what vanished a moment ago and stays
	reads  int

	files   Files
	skipped []Skip
	full    bool     // there are more files or bytes than the limits allow
	moving  []string // files that change now
	held    []string // files that hold kept as they were
	failed  []string // what could not be read
	open    []string // files of held that a program has open for writing
	// unfinished are files that were read though a program has them open for writing.
	unfinished []string
}

// patch updates the last Tree with the files that changed. It returns false if the result would
// exceed a limit.
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

// whole makes all files of the Tree.
func (l *loader) whole(top *node) {
	l.skipped, l.held, l.moving, l.failed, l.open, l.unfinished = nil, nil, nil, nil, nil, nil
	var all []reached
	if top != nil {
		all = top.all("", nil)
	}
	left := l.leaveOut(all)
	var files []File
	for _, r := range all {
		if detail, out := left[r.entry]; out {
			r.have, l.full = nil, true
			l.skip(r.entry, TreeTooLarge, detail)
		} else if l.load(r.entry) {
			files = append(files, File{r.path, r.have.content, r.have.hash})
		}
	}
	var kept []File
	for path, k := range l.kept {
		kept = append(kept, File{path, k.content, k.hash})
	}
	l.files = sortedFiles(files).With(kept, nil)
	l.sortSkipped()
}

// reached is an entry that is a file, or a directory that was not walked.
type reached struct {
	*entry
	// dir is the directory that it is in, or that holds the first link on the way to it.
	dir string
}

// all appends the entries in the directory dir, which is n, and below.
func (n *node) all(dir string, entries []reached) []reached {
	if len(n.chain) > 0 {
		dir = path.Dir(n.chain[0]) + "/"
	}
	for _, e := range n.entries {
		if e.skip != "" || !e.isDir() {
			entries = append(entries, reached{e, dir})
		}
		if e.sub != nil {
			entries = e.sub.all(e.path, entries)
		}
	}
	return entries
}

func (l *loader) sortSkipped() {
	slices.SortFunc(l.skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
}

func (l *loader) skip(e *entry, why SkipReason, detail string) {
	l.skipped = append(l.skipped, Skip{strings.TrimSuffix(e.path, "/"), why, detail})
}

// load reads e if it changed. It keeps the last content if the file is changing at the moment or is
// held back. It returns false if there is no content.
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
	case errors.Is(err, errOpen):
		l.held, l.open = append(l.held, e.path), append(l.open, e.path)
		if e.have == nil {
			l.skip(e, BeingWritten, "") // what a state knows of it stays
		}
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
