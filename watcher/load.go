package watcher

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// racyWindow is longer than the clock tick of any file system. A file that was read within racyWindow after its
// last change may change once more without a new change time, so that its signature does not show the second
// change.
const racyWindow = 20 * time.Millisecond

// loaded is the content of a file, with the signature that the file had when it was read.
type loaded struct {
	sig     signature
	content []byte
	hash    Hash
	// racy is true if the file was read within racyWindow after its change time. The file is then read once more.
	racy bool
}

// errMoving means that a file is changing now: it differs from what the scan found.
var errMoving = errors.New("the file changes while it is read")

// errOpen means that a program has the file open for writing.
var errOpen = errors.New("a program writes the file")

// recently is the greatest age of a change for which the reader checks whether a program still writes the file.
// A file that changed earlier is read without this check.
const recently = time.Minute

// recent reports whether a file changed so recently (see the constant recently) that a program may still write it.
// Other files do not need the more expensive test openForWriting.
func recent(sig signature) bool {
	return time.Since(time.Unix(0, max(sig.mtime, sig.ctime))) < recently
}

// read reads the file of e. It returns errMoving if the file no longer has the signature of e. Errors of the
// system are returned unchanged. If a FIFO has replaced the file, read does not block.
//
// If the file changed recently and a program has it open for writing, the function l.waits decides. If l.waits
// returns true, read returns errOpen. If l.waits returns false, read reads the file and adds its path to
// l.unfinished. If l.waits is nil, read does not check for such programs.
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
	if l.waits != nil && recent(e.sig) && openForWriting(f) {
		if l.waits(e.path) {
			return nil, errOpen
		}
		l.unfinished = append(l.unfinished, e.path)
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
		got.content = e.have.content // Trees share one copy
	}
	return got, nil
}

// unchanged returns errMoving if the open file f no longer has the signature sig, which the scan found, and nil
// otherwise. It does not compare device and inode numbers. It returns an error of Stat unchanged.
func unchanged(f *os.File, sig signature) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now := signatureOf(info)
	// A file with equal times that was renamed over the listed one is as good. Some file systems also report
	// another inode number for an open file.
	now.identity = sig.identity
	if now != sig {
		return errMoving
	}
	return nil
}
