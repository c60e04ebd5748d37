package watcher

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// racyWindow is more than the tick of any file system's clock: a file read
// this soon after its change time may change again without a new signature.
const racyWindow = 20 * time.Millisecond

// loaded is the content of a file under one signature.
type loaded struct {
	sig     signature
	content []byte
	hash    Hash
	// racy tells that the signature was too young to be trusted.
	racy bool
}

// errMoving means that a file is not what the listing said: it changes now.
var errMoving = errors.New("the file changes while it is read")

// loader makes a Tree of what was listed, and reads what it does not have.
type loader struct {
	limits Limits
	root   *os.Root
	hold   func(path string) bool
	reads  int
	bytes  int64
	tree   Tree
	moving []string
	failed []string // what the system refused to read
}

// walk appends everything below n to the Tree.
func (l *loader) walk(n *node) {
	for i := range n.entries {
		e := &n.entries[i]
		if e.skip != "" {
			l.skip(e, e.skip, e.detail)
		} else if !e.isDir() {
			l.file(e)
		}
		if e.sub != nil {
			l.walk(e.sub)
		}
	}
}

func (l *loader) skip(e *entry, why SkipReason, detail string) {
	l.tree.Skipped = append(l.tree.Skipped, Skip{strings.TrimSuffix(e.path, "/"), why, detail})
}

// file appends e, with its last content when it changes at this moment or is
// held.
func (l *loader) file(e *entry) {
	if l.bytes+e.sig.size > l.limits.TreeBytes || len(l.tree.Files) >= l.limits.Files {
		e.have = nil
		l.skip(e, TreeTooLarge, fmt.Sprintf("with it the folder has more than %d bytes or %d files",
			l.limits.TreeBytes, l.limits.Files))
		return
	}
	l.bytes += e.sig.size
	if (e.have == nil || e.have.sig != e.sig) && (l.hold == nil || !l.hold(e.path)) {
		fresh, err := l.read(e)
		switch {
		case errors.Is(err, errMoving) || errors.Is(err, fs.ErrNotExist):
			l.moving = append(l.moving, e.path)
		case err != nil:
			l.failed = append(l.failed, e.path)
			l.skip(e, Unreadable, reason(err).Error())
			return
		default:
			e.have = fresh
		}
	}
	if e.have != nil {
		l.tree.Files = append(l.tree.Files, File{e.path, e.have.content, e.have.hash})
	}
}

// read returns the content of e, at most one byte more than was listed is
// ever read. A FIFO that took the file's place does not block.
func (l *loader) read(e *entry) (*loaded, error) {
	l.reads++
	f, err := l.root.OpenFile(e.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := unchanged(f, e.sig); err != nil {
		return nil, err
	}
	buf := make([]byte, e.sig.size+1)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if int64(n) != e.sig.size {
		return nil, errMoving
	}
	if err := unchanged(f, e.sig); err != nil {
		return nil, err
	}
	age := time.Since(time.Unix(0, e.sig.ctime))
	got := &loaded{sig: e.sig, content: buf[:n:n], hash: sha256.Sum256(buf[:n]), racy: age >= 0 && age < racyWindow}
	if e.have != nil && e.have.hash == got.hash {
		got.content = e.have.content // one copy for all Trees
	}
	return got, nil
}

// unchanged compares an open file with its listing.
func unchanged(f *os.File, sig signature) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now := signatureOf(info)
	// A file of equal times that was renamed over the listed one is as good,
	// and some file systems give an open file another number.
	now.identity = sig.identity
	if now != sig {
		return errMoving
	}
	return nil
}

// keep adds files that vanished a moment ago and may come back.
func (l *loader) keep(kept map[string]*loaded) {
	for path, k := range kept {
		l.tree.Files = append(l.tree.Files, File{path, k.content, k.hash})
	}
	slices.SortFunc(l.tree.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
}

// sum is Tree.Hash: over hashes, so that an edit costs no reading of others.
func (t *Tree) sum() Hash {
	h := sha256.New()
	var line []byte
	text := func(s string) {
		line = append(binary.AppendUvarint(line, uint64(len(s))), s...)
	}
	text(t.Revision)
	text(fmt.Sprint(t.Missing, len(t.Files)))
	for i := range t.Files {
		text(t.Files[i].Path)
		line = append(line, t.Files[i].Hash[:]...)
		h.Write(line)
		line = line[:0]
	}
	for _, s := range t.Skipped {
		text(s.Path)
		text(string(s.Reason))
		text(s.Detail)
	}
	h.Write(line)
	return Hash(h.Sum(nil))
}
