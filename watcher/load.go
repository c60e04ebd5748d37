package watcher

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// racyWindow is more than the tick of any file system's clock: a file read
// this soon after its change time may change again without a new signature.
const racyWindow = 20 * time.Millisecond

// loaded is the content of a file with the signature at that time.
type loaded struct {
	sig     signature
	content []byte
	hash    Hash
	// racy is true if the signature was too young to be trusted.
	racy bool
}

// errMoving means that a file is not what the listing said: it changes now.
var errMoving = errors.New("the file changes while it is read")

// errOpen means that a program has the file open for writing.
var errOpen = errors.New("a program writes the file")

// recently is how young the last change of a file is that somebody may be writing. An
// older one that is still open is as complete as it will be for now.
const recently = time.Minute

// recent reports whether a file was changed recently, so that a program may still be writing it. It
// avoids the more expensive test for most files.
func recent(sig signature) bool {
	return time.Since(time.Unix(0, max(sig.mtime, sig.ctime))) < recently
}

// read returns the content of e, at most one byte more than its listed size. It does not block if a
// FIFO has replaced the file.
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
		got.content = e.have.content // one copy for all Trees
	}
	return got, nil
}

// unchanged returns an error if an open file differs from its listing.
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
