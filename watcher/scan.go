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
	// deep is true if unchanged directories are listed, too.
	deep bool
	// ways has the paths of each known directory.
	ways map[identity]*ways

	changes []change
	// unread is true if a directory cannot be listed now, or if a directory that could not be listed before can be
	// listed now.
	unread bool
	// stale is true if everything must be scanned again, for example because something vanished.
	stale bool
	scanned
	todo
}

// scanned counts listed directories and names, for the limits.
type scanned struct {
	plain  tally // paths without a link
	linked tally // directories that are reached only by links
	// again counts the directories that links lead to a second time, and the names in them.
	again int
}

// tally counts directories and the names in them.
type tally struct{ dirs, names int }

// ways are the known paths of one directory. Links can give a directory several paths.
type ways struct {
	paths []string
	// plain is the path without a link. hasPlain is true if there is such a path.
	plain    string
	hasPlain bool
	// names is how many entries the directory has.
	names int
}

// all returns every known path by which the directory can be reached. It returns nil if w is nil, which means that
// the directory is not known.
func (w *ways) all() []string {
	if w == nil {
		return nil
	}
	return w.paths
}

// list reads the directory of v, compares its entries with the known ones, and queues the directories in it
// that must be listed. It returns errLoop if a link makes the directory contain itself, errTooMany or errLinks
// if a limit is exceeded, and any error of the system. It returns errLater if it put v into the queue again,
// because the directory has so many names that others come first.
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
	n := &node{id: signatureOf(info).identity, chain: v.links}
	if slices.Contains(v.up, n.id) {
		return nil, errLoop
	}
	n.again = len(v.links) > 0 && s.elsewhere(v.dir, n.id)
	if s.deep || v.old == nil || v.old.id != n.id || s.ways[n.id] == nil {
		s.note(v.dir, n)
	}
	found, err := s.read(f, v.dir, n)
	if err != nil {
		return nil, err
	}
	if err := s.count(v, n, len(found)); err != nil {
		return nil, err
	}
	var before []*entry
	if v.old != nil {
		before = v.old.entries
	}
	n.entries = s.merge(listing{v.dir, append(slices.Clip(v.up), n.id), n}, before, found)
	return n, nil
}

// note records that the directory n has the path dir, and calls s.enter, which watches the directory. It must
// be called before the directory is listed, so that no later change is missed.
func (s *scan) note(dir string, n *node) {
	if s.enter != nil {
		s.enter(dir, n.id)
	}
	w := s.ways[n.id]
	if w == nil {
		w = &ways{}
		s.ways[n.id] = w
	}
	if !slices.Contains(w.paths, dir) {
		w.paths = append(w.paths, dir)
	}
	if len(n.chain) == 0 {
		w.plain, w.hasPlain = dir, true
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
// the path of f. read also records in the node n which of the names are links. It returns errTooMany if the
// directory has more entries than the limits allow.
func (s *scan) read(f *os.File, dir string, n *node) ([]entry, error) {
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
		if len(found) > s.mostNames(dir) {
			return nil, errTooMany
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return found, nil
}

// listing is a directory that merge compares with what is known of it from an earlier scan.
type listing struct {
	dir string
	up  []identity // the directories above, and this one
	n   *node
}

// merge compares the entries that a directory has now (found) with its known entries (before). It records the
// changes, and queues directories that must be listed. It returns the new known entries: for an unchanged
// entry, that is the known entry itself. All lists are sorted by path.
func (s *scan) merge(l listing, before []*entry, found []entry) []*entry {
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
		if e.isDir() {
			s.descend(l, &e, was)
		} else {
			s.compare(&e, was)
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

// collapse replaces all changes below a path by one change of kind flipped. It is called if the link to a
// directory was replaced: then everything below the link changed at once. It also removes from s.kept the
// content of files that vanished below the path.
func (s *scan) collapse(path string) {
	s.changes = slices.DeleteFunc(s.changes, func(c change) bool {
		below := strings.HasPrefix(c.path, path)
		if below {
			delete(s.kept, c.path)
		}
		return below
	})
	s.changes = append(s.changes, change{path, flipped})
}

// gone records that e, and everything below it, was removed. The last content of each file stays in s.kept for
// a while, in case the file comes back.
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
