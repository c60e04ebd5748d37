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

// signature changes whenever the content of a file may have changed. The
// change time is in it because size and modification time can be restored.
type signature struct {
	identity
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	kind         fs.FileMode
	// shared is true if the file has other names, perhaps beside this one.
	shared bool
}

// node is a directory as it was listed last.
type node struct {
	id identity
	// chain is visit.links, and again is true if another path leads here, which is
	// counted as Limits.Links says.
	chain   []string
	again   bool
	entries []*entry // sorted by path
	// links names all links here, symbolic and hard ones: what they lead to may
	// change with any other name, a hidden one too.
	links map[string]bool
}

// linked notes whether the name is a link.
func (n *node) linked(name string, is bool) {
	switch {
	case !is:
		delete(n.links, name)
	case n.links == nil:
		n.links = map[string]bool{name: true}
	default:
		n.links[name] = true
	}
}

// entry is one thing in a directory: a loadable file, a directory, or
// something that looks like either and cannot be read.
type entry struct {
	// path is relative to the root. A directory's ends in "/", so that the
	// order of entries is the order of the files below them.
	path string
	// link is the identity of the symbolic link, when the name is one.
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

// isLink reports whether the entry can have another name.
func (e *entry) isLink() bool { return e.link != identity{} || e.sig.shared }

func (e *entry) isDir() bool { return strings.HasSuffix(e.path, "/") }

// sameState reports whether an entry is unchanged.
func (e *entry) sameState(f *entry) bool {
	return e.sig == f.sig && e.link == f.link && e.skip == f.skip && e.detail == f.detail
}

// entry classifies one name of a directory. look returns the file's info. ok is false if the
// watcher ignores the name; e then only has whether it is a link.
func (s *scan) entry(dir, name string, look func() (fs.FileInfo, error)) (e entry, ok bool) {
	if strings.HasPrefix(name, ".") {
		return entry{}, false
	}
	s.stats++
	info, err := look()
	if err != nil {
		return entry{}, false // vanished; its event follows
	}
	e = entry{path: dir + name, sig: signatureOf(info)}
	if e.sig.kind == fs.ModeSymlink {
		ok = s.follow(&e)
	} else {
		ok = s.judge(&e)
	}
	return e, ok && !s.ignore.match(e.path)
}

// follow reads the target of a symbolic link into e.
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
	return s.takes(path.Base(e.path)) || e.skip == LeavesRoot && path.Ext(e.path) == ""
}

// judge decides from its signature what e is.
func (s *scan) judge(e *entry) (ok bool) {
	switch {
	case !s.takes(path.Base(e.path)) && e.sig.kind == fs.ModeDir:
		e.path += "/"
		// What changes in a directory shows in its entries.
		e.sig = signature{identity: e.sig.identity, kind: fs.ModeDir}
		return true
	case !s.takes(path.Base(e.path)):
		return false
	case e.sig.kind != 0:
		e.skip, e.detail = NotRegular, "not a regular file: "+kindName(e.sig.kind)
	case e.sig.size > s.limits.FileBytes:
		e.skip = TooLarge
		e.detail = fmt.Sprintf("%d bytes, the limit is %d", e.sig.size, s.limits.FileBytes)
	}
	return true
}

// Loadable reports whether a file may contain YAML, by its name without folder. It is a list of
// allowed endings, because files of editors (x~, 4913, sedXXXX, x.swp) have other ones. Hidden
// files were left out before.
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

// reason returns the error without its operation and path, which are reported separately. If a
// limit of the system is the cause, it names the limit.
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
