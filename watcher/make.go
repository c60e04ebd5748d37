package watcher

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// madeOf has the content of the reader's last Tree, and the changes since that Tree. With it, the next Tree can
// be made from the changed files alone.
type madeOf struct {
	files   Files
	skipped []Skip
	// changed has the paths of files that may differ in the next Tree.
	changed map[string]bool
	// whole is true if the next Tree must be made from all entries, because a directory or the whole folder
	// changed.
	whole bool
}

// note records the changes that a scan found since the last Tree. It sets m.whole, so that the next Tree is
// made from all entries, if a change concerns more than a single file: a directory or the root changed, or a link
// to a directory was replaced (see the constant flipped). It also sets m.whole if the parameter refused is true: a
// directory could not be listed, or can be listed again.
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

// loading says how a Tree may differ from the entries that the last scan found.
type loading struct {
	// keep reports whether a file that vanished a moment ago stays in the Tree. nil means that no file does.
	keep func(path string) bool
	// hold reports whether a changed file keeps its last content in the Tree. nil means that no file does.
	hold func(path string) bool
	// waits reports whether a file keeps its last content in the Tree while a program has it open for writing.
	// nil means that no file does.
	waits func(path string) bool
}

// keeps reports whether a file that vanished a moment ago stays in the Tree.
func (l loading) keeps(path string) bool { return l.keep != nil && l.keep(path) }

// tree makes a Tree from the entries that the last scan found, and reads the files that changed. The parameter
// mode says which files keep the content that they have in the last Tree. The result moving has the files that
// changed while they were read. For such a file the Tree has the last content, if there is any.
func (r *reader) tree(root *os.Root, mode loading) (t Tree, moving []string) {
	l := &loader{loading: mode, root: root, kept: map[string]*loaded{}}
	for path, content := range r.kept {
		if mode.keeps(path) {
			l.kept[path] = content
		}
	}
	patched := !r.last.whole
	if patched {
		l.patch(r.top, &r.last)
	} else {
		l.whole(r.top)
	}
	left := map[string]bool{} // paths that the next Tree must look at again
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
	r.last = madeOf{files: l.files, skipped: l.skipped, changed: left}
	return Tree{
		Root: r.name, Revision: r.at.revision, Missing: r.top == nil, Files: l.files, Skipped: r.withOwn(l.skipped),
	}, l.moving
}

// withOwn returns a list of the Skips in the parameter skipped and the Skips of the folder itself: an IgnoreFile that
// is not used, and links to what is read by another path. The list is sorted by path.
func (r *reader) withOwn(skipped []Skip) []Skip {
	if r.top == nil || r.ignore.skip == nil && len(r.told) == 0 {
		return skipped
	}
	all := slices.Concat(skipped, r.told)
	if r.ignore.skip != nil {
		all = append(all, *r.ignore.skip)
	}
	slices.SortFunc(all, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// loader makes the files of a Tree from the entries of the last scan, and reads the content that is not known.
type loader struct {
	loading
	root  *os.Root
	kept  map[string]*loaded // content of files that vanished a moment ago and stay in the Tree
	reads int

	files   Files
	skipped []Skip
	moving  []string // files that are changing now
	held    []string // files that keep their last content, because hold or waits returned true
	failed  []string // files that could not be read
	open    []string // those files in held that a program has open for writing
	// unfinished are files that were read although a program has them open for writing.
	unfinished []string
}

// patch makes l.files and l.skipped: it copies the lists of the last Tree, and updates the entries of the changed
// files (last.changed).
func (l *loader) patch(top *node, last *madeOf) {
	var set []File
	var gone []string
	l.skipped = slices.DeleteFunc(slices.Clone(last.skipped), func(s Skip) bool { return last.changed[s.Path] })
	for _, path := range slices.Sorted(maps.Keys(last.changed)) {
		e := top.at(path)
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
}

// whole makes l.files and l.skipped from all entries below the directory top. top is nil if the root is missing.
func (l *loader) whole(top *node) {
	var files, kept []File
	top.walk(func(_ *node, e *entry) {
		if (e.skip != "" || !e.isDir()) && l.load(e) {
			files = append(files, File{e.path, e.have.content, e.have.hash})
		}
	})
	for path, k := range l.kept {
		kept = append(kept, File{path, k.content, k.hash})
	}
	l.files = sortedFiles(files).With(kept, nil)
	l.sortSkipped()
}

// walk calls visit for each entry below n, sorted by path, with the directory that has it. n may be nil.
func (n *node) walk(visit func(in *node, e *entry)) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		visit(n, e)
		e.sub.walk(visit)
	}
}

func (l *loader) sortSkipped() {
	slices.SortFunc(l.skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
}

func (l *loader) skip(e *entry, why SkipReason, detail string) {
	l.skipped = append(l.skipped, Skip{strings.TrimSuffix(e.path, "/"), why, detail})
}

// replaced reports whether the file of e has lost its last name since it was read, and its path still leads to it. Some
// file systems never count names, so that the file must have had one before.
func (l *loader) replaced(e *entry) bool {
	if !e.sig.nameless || e.have == nil || e.have.sig.nameless || e.have.sig.identity != e.sig.identity {
		return false
	}
	info, err := l.root.Stat(e.path) // a file that is replaced right now has another identity
	return err == nil && signatureOf(info) == e.sig
}

// load reads the file of e if it changed, and reports whether the Tree has content for it. A changed file keeps the
// content of the last reading, if there is any, in these cases:
//   - l.hold returns true for the file.
//   - A program has the file open for writing, and l.waits returns true for the file.
//   - The file changes or vanishes while it is read.
//
// A file that must be skipped or cannot be read has no content in the Tree, and load records a Skip with the
// reason.
func (l *loader) load(e *entry) bool {
	switch {
	case e.instead != "":
		return false
	case e.skip != "":
		l.skip(e, e.skip, e.detail)
		return false
	case e.have != nil && e.have.sig == e.sig:
		return true
	case l.replaced(e):
		l.skip(e, Replaced, "the file is mounted here by itself, and was deleted or replaced where it comes from: no edit of it arrives")
		return false
	case l.hold != nil && l.hold(e.path):
		l.held = append(l.held, e.path)
		return e.have != nil
	}
	fresh, err := l.read(e)
	switch {
	case errors.Is(err, errOpen):
		l.held, l.open = append(l.held, e.path), append(l.open, e.path)
		if e.have == nil {
			l.skip(e, BeingWritten, "") // the store keeps the objects that it knows of this file
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
