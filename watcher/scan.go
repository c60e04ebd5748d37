package watcher

import (
	"errors"
	"fmt"
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

	changes []change
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
	if s.enter != nil && (s.deep || old == nil || old.id != n.id) {
		s.enter(dir, n.id)
	}
	found, err := s.read(f, dir)
	if err != nil {
		return nil, err
	}
	var before []entry
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

// read returns the entries of a directory, sorted, without what is below.
func (s *scan) read(f *os.File, dir string) ([]entry, error) {
	if s.dirs++; s.dirs > s.limits.Dirs {
		return nil, errTooMany
	}
	var found []entry
	for {
		batch, err := f.ReadDir(1024)
		for _, d := range batch {
			if e, ok := s.entry(dir, d); ok {
				found = append(found, e)
			}
		}
		if s.files+len(found) > s.limits.Files+s.limits.Dirs {
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

// merge compares the entries of a directory with those before, carries over
// what is still true, and walks the directories that are new.
func (s *scan) merge(up []identity, before, found []entry) []entry {
	out := found[:0]
	for _, e := range found {
		for len(before) > 0 && before[0].path < e.path {
			s.gone(&before[0])
			before = before[1:]
		}
		var was *entry
		if len(before) > 0 && before[0].path == e.path {
			was, before = &before[0], before[1:]
		}
		if !e.isDir() {
			s.compare(&e, was)
		} else if !s.descend(&e, was, up) {
			continue
		}
		out = append(out, e)
	}
	for i := range before {
		s.gone(&before[i])
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
	if was != nil && was.link != (identity{}) && e.link != (identity{}) && was.link != e.link {
		s.collapse(seen, e.path)
	}
	return true
}

// refuse keeps a directory that cannot be walked as it was known, all of it
// skipped: what cannot be read is not deleted.
func (s *scan) refuse(e, was *entry, err error) {
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
	c := &node{id: n.id, entries: slices.Clone(n.entries)}
	for i := range c.entries {
		e := &c.entries[i]
		e.skip, e.detail = why, detail
		if e.sub != nil {
			e.sub = e.sub.skipped(why, detail)
		}
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
		for i := range e.sub.entries {
			s.gone(&e.sub.entries[i])
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

// relist lists the directories of n's tree whose identity is in dirs, and
// nothing else. It returns an error when one is not what it was.
func (s *scan) relist(dir string, up []identity, n *node, dirs map[identity]bool) (*node, error) {
	if dirs[n.id] {
		fresh, err := s.list(dir, up, n)
		if err != nil {
			return n, err
		}
		if fresh.id != n.id {
			return n, fmt.Errorf("%s: another directory took its place", dir)
		}
		n = fresh
	}
	up = append(slices.Clip(up), n.id)
	for i := range n.entries {
		e := &n.entries[i]
		if e.sub == nil || e.skip != "" {
			continue
		}
		sub, err := s.relist(e.path, up, e.sub, dirs)
		if err != nil {
			return n, err
		}
		e.sub = sub
	}
	return n, nil
}
