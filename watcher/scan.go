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
	// unread is true if a directory cannot be listed, or can be listed after it could not be.
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

// ways are the known paths of one directory.
type ways struct {
	paths []string
	// plain is the path without a link. hasPlain is true if there is such a path.
	plain    string
	hasPlain bool
	// names is how many entries the directory has.
	names int
}

// all returns the paths. It returns nil if w is nil: if the directory is not known.
func (w *ways) all() []string {
	if w == nil {
		return nil
	}
	return w.paths
}

// list reads the directory of v, compares it with its known state, and queues the directories in it. It returns
// an error if the directory cannot be read, contains itself by a link, or exceeds a limit. It returns errLater
// if it has queued v again, because the directory has many names.
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

// note records the path dir of the directory n in s.ways, and calls s.enter. It is called before the directory
// is listed.
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

// read returns the entries of the directory f at the path dir, sorted by path. It does not read subdirectories.
// It records in n which names are links. It returns errTooMany if there are too many entries.
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

// listing is a directory whose entries are compared.
type listing struct {
	dir string
	up  []identity // the directories above, and this one
	n   *node
}

// merge compares the present entries of a directory, found, with its known entries, before. It returns the new
// list. For an unchanged entry, the list has the known entry itself. All lists are sorted by path. merge records
// changes and queues directories.
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

// compare records how the file e changed. The parameter was is its known entry, or nil. e gets the known
// content, or that of a vanished file with the same path.
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
		e.have = &loaded{content: e.have.content, hash: e.have.hash} // without a signature it is read again
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

// collapse replaces all changes below path by one change of kind flipped, and removes the content in s.kept for
// these changes. It is used if the link of a directory was replaced, because then everything below changes at
// once.
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

// gone records the removal of e and of everything below it. The content stays in s.kept.
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
