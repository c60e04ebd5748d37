package watcher

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// identity tells one file or directory from any other that exists now.
type identity struct{ dev, ino uint64 }

// signature changes whenever the content of a file may have changed. The
// change time is in it because size and modification time can be restored.
type signature struct {
	identity
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	kind         fs.FileMode
}

// node is a directory as it was last listed.
type node struct {
	id      identity
	entries []entry // sorted by path
}

// entry is one thing in a directory: a loadable file, a directory, or
// something that looks like either and cannot be read.
type entry struct {
	// path is relative to the root. A directory's ends in "/", so that the
	// order of entries is the order of the files below them.
	path string
	// link is the identity of the symbolic link, when the entry is one.
	link identity
	// sig is of the file itself; a link is followed.
	sig signature
	// skip, if any, says why it is not read, and detail says it in words.
	skip   SkipReason
	detail string
	// have is the content read last, perhaps under an older signature.
	have *loaded
	// sub is what is in the directory, nil when that is not known.
	sub *node
}

func (e *entry) isDir() bool { return strings.HasSuffix(e.path, "/") }

// sameState is what must be equal for an entry to count as unchanged.
func (e *entry) sameState(f *entry) bool {
	return e.sig == f.sig && e.link == f.link && e.skip == f.skip
}

// scan is one comparison of the folder with what is known of it.
type scan struct {
	limits Limits
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

// entry judges one name; ok is false for what is none of our business.
func (s *scan) entry(dir string, d fs.DirEntry) (e entry, ok bool) {
	name := d.Name()
	if strings.HasPrefix(name, ".") {
		return entry{}, false
	}
	info, err := d.Info()
	if err != nil {
		return entry{}, false // vanished; its event follows
	}
	e = entry{path: dir + name, sig: signatureOf(info)}
	if e.sig.kind == fs.ModeSymlink {
		return e, s.follow(&e)
	}
	return e, s.judge(&e)
}

// follow puts what a symbolic link leads to into e.
func (s *scan) follow(e *entry) (ok bool) {
	e.link = e.sig.identity
	info, err := s.root.Stat(e.path)
	if err == nil {
		e.sig = signatureOf(info)
		return s.judge(e)
	}
	target, _ := s.root.Readlink(e.path)
	e.skip, e.detail = Unreadable, fmt.Sprintf("link to %q: %v", target, reason(err))
	if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(syscall.Errno)) {
		e.skip = LeavesRoot
		e.detail = fmt.Sprintf("link to %q: only relative links that stay inside the folder are followed", target)
	}
	// A link without an extension may be meant as a directory.
	return loadable(e.path) || e.skip == LeavesRoot && path.Ext(e.path) == ""
}

// judge decides what e is by its signature.
func (s *scan) judge(e *entry) (ok bool) {
	switch {
	case !loadable(e.path) && e.sig.kind == fs.ModeDir:
		e.path += "/"
		// What changes in a directory shows in its entries.
		e.sig = signature{identity: e.sig.identity, kind: fs.ModeDir}
		return true
	case !loadable(e.path):
		return false
	case e.sig.kind != 0:
		e.skip, e.detail = NotRegular, "not a regular file: "+kindName(e.sig.kind)
	case e.sig.size > s.limits.FileBytes:
		e.skip = TooLarge
		e.detail = fmt.Sprintf("%d bytes, the limit is %d", e.sig.size, s.limits.FileBytes)
	}
	return true
}

// loadable is the allow-list. Editors' files (x~, 4913, sedXXXX, x.swp) do
// not end in one of these; hidden ones were sorted out before.
func loadable(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func kindName(kind fs.FileMode) string {
	switch kind {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// reason is the error without its operation and path, which are told beside it.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
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
			s.change(e.path, replaced)
		} else {
			s.change(e.path, written)
		}
	case e.have != nil && e.have.racy:
		e.have = &loaded{content: e.have.content, hash: e.have.hash} // of no signature: read it once more
		s.change(e.path, written)
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
	flipped := was != nil && was.link != (identity{}) && e.link != (identity{}) && was.link != e.link
	if flipped {
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
	s.changes = append(s.changes[:seen], change{path, replaced})
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
