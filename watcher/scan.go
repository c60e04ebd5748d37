package watcher

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
)

// scan is one comparison of the folder with its known state.
type scan struct {
	limits Limits
	takes  func(name string) bool
	ignore ignoreRules
	root   *os.Root
	kept   map[string]*loaded
	// enter, if not nil, is called with each directory that is new or part of a deep scan. The call comes before
	// the directory is listed, so that later changes cause an event.
	enter func(dir string, id identity)
	// deep is true if unchanged directories are listed, too. Only a deep scan follows links and leaves parts out.
	deep bool
	// everyPath is Options.EveryPath.
	everyPath bool
	// ways has the paths by which each directory is known. It has several for one that is mounted twice, and with everyPath.
	ways map[identity][]string
	// total is the size of the folder. parts has it in a deep scan.
	total size
	parts *parts // nil unless deep

	changes []change
	// unread is true if a directory cannot be listed now, or if a directory that could not be listed before can be
	// listed now.
	unread bool
	// stale is true if everything must be scanned again, for example because something vanished.
	stale bool
	todo
}

// list reads the directory of v, compares its entries with the known ones, and queues the directories in it
// that must be listed. It returns errElsewhere if the directory is read by another path, errFull if a limit is exceeded, and
// any error of the system.
func (s *scan) list(v *visit) (*node, error) {
	f, err := s.root.OpenFile(rootName(v.dir), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := &node{id: signatureOf(info).identity, rank: v.rank}
	v.id = n.id
	if s.elsewhere(v) {
		return nil, errElsewhere
	}
	if s.deep || v.old == nil || v.old.id != n.id || s.ways[n.id] == nil {
		s.note(v.dir, n.id)
	}
	found, err := s.read(f, v.dir, n)
	if err != nil {
		return nil, err
	}
	var before []*entry
	by := own(found)
	if v.old != nil {
		before = v.old.entries
		by = by.plus(own(before), -1)
	}
	if s.deep {
		err = s.parts.charge(v.dir, found)
	} else {
		err = s.grow(by)
	}
	if err != nil {
		return nil, err
	}
	n.entries = s.merge(v, before, found)
	return n, nil
}

// grow adds to the size of the folder in a scan that is not deep. It returns errFull, and adds nothing, if the folder then
// has more than a limit: a deep scan has to say what is left out.
func (s *scan) grow(by size) error {
	for what, most := range s.limits.most() {
		if by[what] > 0 && s.total[what]+by[what] > most {
			return errFull
		}
	}
	s.total = s.total.plus(by, 1)
	return nil
}

// note records that a directory has the path dir, and calls s.enter, which watches the directory. It must
// be called before the directory is listed, so that no later change is missed.
func (s *scan) note(dir string, id identity) {
	if s.enter != nil {
		s.enter(dir, id)
	}
	if !slices.Contains(s.ways[id], dir) {
		s.ways[id] = append(s.ways[id], dir)
	}
}

// rootName returns dir without the "/" at its end, and "." for the root. os.Root needs this form.
func rootName(dir string) string {
	if dir == "" {
		return "."
	}
	return strings.TrimSuffix(dir, "/")
}

// read returns the entries of the directory f, sorted by path. It does not read subdirectories. The parameter dir is
// the path of f. read also records in the node n which of the names are links. It returns errFull if the
// directory has more entries than the limits allow, and cannot be left out.
func (s *scan) read(f *os.File, dir string, n *node) ([]*entry, error) {
	var found []*entry
	for {
		batch, err := f.ReadDir(1024)
		for _, d := range batch {
			e, ok := s.entry(dir, d.Name(), d.Info)
			if ok {
				found = append(found, &e)
			}
			n.linked(d.Name(), e.isLink())
		}
		if len(found) > s.limits.Files+s.limits.Dirs {
			if !s.deep || s.parts.owns(s.parts.of(dir)) {
				return nil, errFull
			}
			break // it exceeds a limit alone, and is left out
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return found, nil
}

// merge compares the entries that the directory of v has now (found) with its known entries (before). It records the
// changes, and queues directories that must be listed. It returns the new known entries: for an unchanged
// entry, that is the known entry itself. All lists are sorted by path.
//
// A link, symbolic or hard, that is new, gone, or leads elsewhere may change which links are followed, anywhere. So a scan
// that is not deep leaves such a link as it was known, and sets s.stale. It does the same for what a limit leaves out.
func (s *scan) merge(v *visit, before, found []*entry) []*entry {
	out := make([]*entry, 0, len(found))
	leave := func(e *entry) {
		if s.deep || !e.isLink() {
			s.gone(e)
			return
		}
		s.stale = true
		out = append(out, e)
	}
	for _, e := range found {
		for len(before) > 0 && before[0].path < e.path {
			leave(before[0])
			before = before[1:]
		}
		var was *entry
		if len(before) > 0 && before[0].path == e.path {
			was, before = before[0], before[1:]
		}
		if !s.deep && (e.leadsElsewhere(was) || was != nil && was.skip == TreeTooLarge) {
			s.stale = true
			if was != nil {
				out = append(out, was)
			}
			continue
		}
		if e.isDir() {
			s.descend(v, e, was)
		} else {
			s.compare(e, was)
		}
		if was == nil || *was != *e || s.deep && e.isDir() {
			was = e
		}
		s.noteLink(was, v.rank)
		out = append(out, was)
	}
	for _, e := range before {
		leave(e)
	}
	return out
}

// compare records how a file changed. The parameter e has the current state of the file. The parameter was has the
// known state of the file, or is nil if the file is new. compare also sets e.have to the content that was last read
// from the file. For a new file, this is the content of a file with the same path that vanished recently, if there
// is one.
func (s *scan) compare(e, was *entry) {
	if was == nil {
		e.have = s.kept[e.path]
		delete(s.kept, e.path)
		s.change(e.path, added)
		return
	}
	e.have = was.have
	if e.link != (identity{}) && e.skip == "" {
		e.instead = was.instead // until readOnce
	}
	switch {
	case !e.sameState(was):
		if e.skip == "" && was.skip == "" && e.sig.identity != was.sig.identity && e.sig.size > 0 {
			s.change(e.path, swapped)
		} else {
			s.change(e.path, written)
		}
	case e.have != nil && e.have.racy:
		known := signature{identity: e.have.sig.identity, nameless: e.have.sig.nameless}
		e.have = &loaded{sig: known, content: e.have.content, hash: e.have.hash} // without times it is read again
		s.change(e.path, reread)
	}
}

// skipped returns a copy of n in which every file and directory is skipped, with the given reason and message.
func (n *node) skipped(why SkipReason, detail string) *node {
	c := &node{id: n.id, rank: n.rank, links: n.links, entries: make([]*entry, len(n.entries))}
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

// collapse replaces all changes below a path by one change of kind flipped. It is called if the link to a
// directory was replaced: then everything below the link changed at once.
func (s *scan) collapse(path string) {
	s.dropChanges(path)
	s.changes = append(s.changes, change{path, flipped})
}

// dropChanges removes all changes below a path, and from s.kept the content of files that vanished there.
func (s *scan) dropChanges(path string) {
	s.changes = slices.DeleteFunc(s.changes, func(c change) bool {
		below := c.path == path || strings.HasPrefix(c.path, path) && rootName(path) != path
		if below {
			delete(s.kept, c.path)
		}
		return below
	})
}

// gone records that e, and everything below it, was removed. The last content of each file stays in s.kept for
// a while, in case the file comes back.
func (s *scan) gone(e *entry) {
	if e.sub != nil {
		if !s.deep {
			s.total = s.total.plus(own(e.sub.entries), -1)
		}
		for _, below := range e.sub.entries {
			s.gone(below)
		}
	}
	if e.isDir() && e.skip == "" && e.instead == "" {
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
