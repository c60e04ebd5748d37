package watcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// scan is one comparison of the folder with what is known of it.
type scan struct {
	limits Limits
	takes  func(name string) bool
	root   *os.Root
	kept   map[string]*loaded
	// enter is told each directory that is listed as new or in a deep scan,
	// before it is listed: what changes later makes an event.
	enter func(dir string, id identity)
	// deep lists known directories too.
	deep bool
	// paths holds the paths of every directory that enter was told.
	paths map[identity][]string

	changes []change
	// refused tells that a directory could not be walked, or can be again.
	refused bool
	// stats counts the names of which the system was asked.
	stats int
	// stale tells that something vanished while it was looked at.
	stale bool
	scanned
}

// scanned counts what was listed.
type scanned struct{ dirs, files int }

// list reads the directory dir ("" is the root, others end in "/") and
// compares it with old, which may be nil. up holds the directories above.
func (s *scan) list(dir string, up []identity, old *node) (*node, error) {
	f, err := s.root.OpenFile(rootName(dir), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := &node{id: signatureOf(info).identity}
	if slices.Contains(up, n.id) {
		return nil, errLoop
	}
	if s.deep || old == nil || old.id != n.id {
		s.note(dir, n.id)
	}
	found, err := s.read(f, dir, n)
	if err != nil {
		return nil, err
	}
	var before []*entry
	if old != nil {
		before = old.entries
	}
	if old != nil && !s.deep { // it was counted when it was listed before
		s.dirs--
		s.files -= len(before)
	}
	n.entries = s.merge(append(slices.Clip(up), n.id), before, found)
	return n, nil
}

// note tells of a directory before it is listed.
func (s *scan) note(dir string, id identity) {
	if s.enter != nil {
		s.enter(dir, id)
	}
	if !slices.Contains(s.paths[id], dir) {
		s.paths[id] = append(s.paths[id], dir)
	}
}

// The reasons not to walk a directory that are ours and not the system's.
var (
	errLoop    = errors.New("a link to a directory that contains it")
	errTooMany = errors.New("more directories or files than the limits allow")
)

// rootName is the name that os.Root wants for dir.
func rootName(dir string) string {
	if dir == "" {
		return "."
	}
	return strings.TrimSuffix(dir, "/")
}

// read returns the entries of a directory, sorted, without what is below, and
// notes the links in n.
func (s *scan) read(f *os.File, dir string, n *node) ([]entry, error) {
	if s.dirs++; s.dirs > s.limits.Dirs {
		return nil, errTooMany
	}
	var found []entry
	for {
		batch, err := f.ReadDir(1024)
		for _, d := range batch {
			e, ok := s.entry(dir, d.Name(), d.Info)
			if ok {
				found = append(found, e)
			}
			n.linked(d.Name(), e.isLink())
		}
		if s.crowded(len(found)) {
			return nil, errTooMany
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	s.files += len(found)
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return found, nil
}

// crowded tells whether more files would be too many.
func (s *scan) crowded(more int) bool { return s.files+more > s.limits.Files+s.limits.Dirs }

// merge compares the entries of a directory with those before, carries over
// what is still true, and walks the directories that are new.
func (s *scan) merge(up []identity, before []*entry, found []entry) []*entry {
	out := make([]*entry, 0, len(found))
	for _, e := range found {
		for len(before) > 0 && before[0].path < e.path {
			s.gone(before[0])
			before = before[1:]
		}
		var was *entry
		if len(before) > 0 && before[0].path == e.path {
			was, before = before[0], before[1:]
		}
		if !e.isDir() {
			s.compare(&e, was)
		} else if !s.descend(&e, was, up) {
			continue
		}
		if was == nil || *was != e {
			was = &e
		}
		out = append(out, was)
	}
	for _, e := range before {
		s.gone(e)
	}
	return out
}

// compare notes how a file differs from what it was.
func (s *scan) compare(e, was *entry) {
	if was == nil {
		e.have = s.kept[e.path]
		delete(s.kept, e.path)
		s.change(e.path, added)
		return
	}
	e.have = was.have
	switch {
	case !e.sameState(was):
		if e.skip == "" && was.skip == "" && e.sig.identity != was.sig.identity && e.sig.size > 0 {
			s.change(e.path, swapped)
		} else {
			s.change(e.path, written)
		}
	case e.have != nil && e.have.racy:
		e.have = &loaded{content: e.have.content, hash: e.have.hash} // of no signature: read it once more
		s.change(e.path, reread)
	}
}

// descend fills in what is below the directory e; false when it is gone.
func (s *scan) descend(e, was *entry, up []identity) bool {
	var old *node
	if was != nil {
		old = was.sub
		if !s.deep && was.skip == "" && e.sameState(was) {
			e.sub = old
			return true
		}
	}
	seen := len(s.changes)
	err := errTooMany
	if len(up) < s.limits.Depth {
		e.sub, err = s.list(e.path, up, old)
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.stale = true
		if was != nil {
			s.gone(was)
		}
		return false
	}
	if err != nil {
		s.refuse(e, was, err)
		return true
	}
	s.refused = s.refused || was != nil && was.skip != ""
	if was != nil && was.link != (identity{}) && e.link != (identity{}) && was.link != e.link {
		s.collapse(seen, e.path)
	}
	return true
}

// refuse keeps a directory that cannot be walked as it was known, all of it
// skipped: what cannot be read is not deleted.
func (s *scan) refuse(e, was *entry, err error) {
	s.refused = true
	e.skip, e.detail = Unreadable, reason(err).Error()
	if errors.Is(err, errTooMany) {
		e.skip = TreeTooLarge
	}
	if was != nil && was.sub != nil {
		e.sub = was.sub.skipped(e.skip, e.detail)
	}
	if was == nil || !e.sameState(was) {
		s.change(e.path, written)
	}
}

// skipped returns a copy of n in which every file is skipped.
func (n *node) skipped(why SkipReason, detail string) *node {
	c := &node{id: n.id, links: n.links, entries: make([]*entry, len(n.entries))}
	for i, e := range n.entries {
		e := *e
		e.skip, e.detail = why, detail
		if e.sub != nil {
			e.sub = e.sub.skipped(why, detail)
		}
		c.entries[i] = &e
	}
	return c
}

// collapse turns the changes since seen into one: the link of a directory was
// replaced, and with it everything below at once.
func (s *scan) collapse(seen int, path string) {
	for _, c := range s.changes[seen:] {
		delete(s.kept, c.path)
	}
	s.changes = append(s.changes[:seen], change{path, flipped})
}

// gone notes the removal of e and of everything below, and keeps the content.
func (s *scan) gone(e *entry) {
	if e.sub != nil {
		for _, below := range e.sub.entries {
			s.gone(below)
		}
	}
	if e.isDir() && e.skip == "" {
		return
	}
	s.change(e.path, removed)
	if e.have != nil {
		s.kept[e.path] = e.have
	}
}

func (s *scan) change(path string, k kind) {
	s.changes = append(s.changes, change{path, k})
}
