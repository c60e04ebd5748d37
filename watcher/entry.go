package watcher

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// identity distinguishes a file or directory from all others that exist now.
type identity struct{ dev, ino uint64 }

// signature is the metadata of a file when a scan found or read it. If the metadata differs from that of the
// last reading, the watcher reads the file again. A signature includes the change time (ctime), because
// programs can restore the size and the modification time.
type signature struct {
	identity
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	kind         fs.FileMode
	// shared is true if the file has more than one name (hard links).
	shared bool
	// nameless is true if the file has no name any more: it was deleted, or another file was renamed over it. A path still
	// leads to such a file if the file is mounted there by itself.
	nameless bool
}

// node is the known contents of a directory: the entries that it had when the watcher last looked at them.
type node struct {
	id identity
	// rank orders the paths to one directory (visit.rank).
	rank    int
	entries []*entry // sorted by path
	// links has the names of all links in the directory, symbolic and hard ones. Whenever lookAt compares some names
	// of the directory, it also compares all links. The reason is that a program can change the file behind a link
	// through another path, even a hidden one, and then no event names the link.
	links map[string]bool
}

// linked updates n.links for an entry of the directory. If isLink is true (the entry is a symbolic or hard link),
// linked adds the entry's name. Otherwise it removes the name.
func (n *node) linked(name string, isLink bool) {
	switch {
	case !isLink:
		delete(n.links, name)
	case n.links == nil:
		n.links = map[string]bool{name: true}
	default:
		n.links[name] = true
	}
}

// entry is one name in a directory. It is a file that the watcher reads, a directory, or a name that should be
// one of the two but cannot be read.
type entry struct {
	// path is relative to the root. The path of a directory ends in "/", so that entries have the order of the
	// files below them.
	path string
	// link is the identity of the symbolic link if the name is one, otherwise zero.
	link identity
	// sig is the signature of the file. For a symbolic link, it is that of the target, or that of the link
	// itself if the target cannot be read.
	sig signature
	// skip is the reason why the entry is not read, or "". detail is the message for it.
	skip   SkipReason
	detail string
	// instead is the path by which the target of a symbolic link is read, if that is another one than the link's. The
	// link is then not followed.
	instead string
	// have is the content that was read last, perhaps under an older signature. nil means none.
	have *loaded
	// sub is the contents of a directory, or nil if they are not known.
	sub *node
}

// isLink reports whether the entry is a symbolic link, or a file with hard links.
func (e *entry) isLink() bool { return e.link != identity{} || e.sig.shared }

// leadsElsewhere reports whether e or was, the entry of the name in the last scan, is a link, and where it leads
// has changed. was is nil if the name is new.
func (e *entry) leadsElsewhere(was *entry) bool {
	if was == nil || !e.isLink() && !was.isLink() {
		return e.isLink()
	}
	return e.link != was.link || e.sig.identity != was.sig.identity || e.skip != was.skip || e.detail != was.detail
}

func (e *entry) isDir() bool { return strings.HasSuffix(e.path, "/") }

// sameState reports whether the entries e and f have the same signature, link, skip and detail. If it returns
// true, nothing shows that the file changed.
func (e *entry) sameState(f *entry) bool {
	return e.sig == f.sig && e.link == f.link && e.skip == f.skip && e.detail == f.detail
}

// entry returns the entry for one name in the directory dir. The parameter look is a function that returns the info
// of that name without following a link. ok is false if the watcher ignores the name, or if the name has vanished.
// For an ignored name that does not begin with a dot, e.isLink is still valid.
func (s *scan) entry(dir, name string, look func() (fs.FileInfo, error)) (e entry, ok bool) {
	if strings.HasPrefix(name, ".") {
		return entry{}, false
	}
	info, err := look()
	if err != nil {
		return entry{}, false // it has vanished; an event follows
	}
	e = entry{path: dir + name, sig: signatureOf(info)}
	if e.sig.kind == fs.ModeSymlink {
		ok = s.follow(&e)
	} else {
		ok = s.judge(&e)
	}
	return e, ok && !s.ignore.match(e.path)
}

// follow sets the signature of e, a symbolic link, to that of the link's target. If the target cannot be read,
// it sets e.skip and e.detail instead. ok is false if the watcher ignores the name.
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
	return s.takes(path.Base(e.path)) || path.Ext(e.path) == ""
}

// judge decides from the name and the signature of e whether the watcher reads it. It adds "/" to the path of a
// directory. It sets e.skip and e.detail if e has the name of a file to read (s.takes), but is not a regular file
// or is too large. ok is false if the watcher ignores e.
func (s *scan) judge(e *entry) (ok bool) {
	taken := s.takes(path.Base(e.path))
	switch {
	case !taken && e.sig.kind == fs.ModeDir:
		e.path += "/"
		// Changes in a directory are visible in its entries.
		e.sig = signature{identity: e.sig.identity, kind: fs.ModeDir}
		return true
	case !taken:
		return false
	case e.sig.kind != 0:
		e.skip, e.detail = NotRegular, "not a regular file: "+kindName(e.sig.kind)
	case e.sig.size > s.limits.FileBytes:
		e.skip = TooLarge
		e.detail = fmt.Sprintf("%d bytes, the limit is %d", e.sig.size, s.limits.FileBytes)
	}
	return true
}

// Loadable reports whether a file may contain YAML, by its base name. Only the extensions .yaml, .yml and .json
// count, because temporary files of editors (x~, 4913, sedXXXX, x.swp) have others. Hidden files are not excluded:
// the caller must do that.
func Loadable(name string) bool {
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

// reason returns the error without its operation and path, which are reported separately. If the limit of open
// files is the cause, the returned error names the limit.
func reason(err error) error {
	var limit syscall.Rlimit
	switch {
	case errors.Is(err, syscall.EMFILE) && syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil:
		return fmt.Errorf("%w: gatefold may have %d open (RLIMIT_NOFILE; systemd: LimitNOFILE)", syscall.EMFILE, limit.Cur)
	case errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: all programs of this machine together (fs.file-max)", syscall.ENFILE)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
