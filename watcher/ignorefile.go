package watcher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// InvalidIgnore is the reason for a Skip of an IgnoreFile with a pattern that cannot be parsed.
const InvalidIgnore SkipReason = "InvalidIgnoreFile"

// IgnoreNotAllowed is the reason for a Skip of an IgnoreFile that must not be used.
const IgnoreNotAllowed SkipReason = "IgnoreFileNotUsed"

// ignoring is the list of patterns of a folder, as it was read last.
type ignoring struct {
	use   IgnoreUse
	globs []string // of Ignore
	rules ignoreRules
	seen  signature // of the file; zero for none
	text  []byte
	skip  *Skip // why the file is not heeded

	quiet, longest time.Duration // Options.Quiet and MaxOpen
	// known is true once the file was looked for.
	known bool
	// since is when the file was first seen to change; zero while it is at rest, and what
	// was read is what it says.
	since time.Time
	gone  time.Time // when it was first missed
}

func newIgnoring(opt Options) *ignoring {
	i := &ignoring{use: opt.Ignore.File, globs: opt.Ignore.Globs, quiet: opt.Quiet, longest: opt.MaxOpen}
	if rules, err := parseIgnore(i.globs); err == nil { // CheckIgnore told of the error
		i.rules = rules
	}
	return i
}

// waits reports whether the last patterns stay active until the file is at rest.
func (i *ignoring) waits() bool { return !i.since.IsZero() }

// moved reports whether the file may have changed. A full scan finds that out. While the file is
// not at rest, such a scan comes anyway.
func (i *ignoring) moved(root *os.Root) bool {
	if i.use == IgnoreNotRead || i.waits() {
		return false
	}
	info, err := root.Stat(IgnoreFile)
	if err != nil {
		return i.seen != signature{}
	}
	return signatureOf(info) != i.seen
}

// refresh reads the file. If its patterns cannot be read, the last ones stay active.
func (i *ignoring) refresh(root *os.Root) {
	if i.use == IgnoreNotRead {
		return
	}
	info, err := root.Stat(IgnoreFile)
	now := time.Now()
	if i.known && i.unfinished(root, info, err, now) {
		i.since = earliest(i.since, now)
		if now.Sub(i.since) < i.longest {
			return
		}
	}
	i.known, i.since, i.skip = true, time.Time{}, nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.seen, i.text = signature{}, nil
		i.adopt(nil)
		return
	case err != nil:
		i.seen = signature{}
		i.reject(Unreadable, reason(err).Error())
		return
	case i.use == IgnoreForbidden:
		i.seen = signatureOf(info)
		i.reject(IgnoreNotAllowed, "the file is not used: it does not lie in --cluster-paths, and could leave out files of others")
		return
	}
	i.seen = signatureOf(info)
	text, err := readIgnoreFile(root)
	if err != nil {
		i.reject(Unreadable, reason(err).Error())
		return
	}
	if i.text == nil || !bytes.Equal(text, i.text) {
		i.adopt(text)
	}
}

// unfinished reports whether the file is being changed at the moment: an incomplete or missing file
// would include what it leaves out.
func (i *ignoring) unfinished(root *os.Root, info fs.FileInfo, err error, now time.Time) bool {
	if errors.Is(err, fs.ErrNotExist) {
		i.gone = earliest(i.gone, now)
		return i.text != nil && now.Sub(i.gone) < i.quiet
	}
	i.gone = time.Time{}
	if err != nil || signatureOf(info) == i.seen {
		return false
	}
	age := now.Sub(info.ModTime())
	return age >= 0 && age < i.quiet || recent(signatureOf(info)) && ignoreFileOpen(root)
}

// ignoreFileOpen reports whether a program has the file open for writing.
func ignoreFileOpen(root *os.Root) bool {
	file, err := root.OpenFile(IgnoreFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return openForWriting(file)
}

// adopt activates the patterns of the file. The globs come last and so win.
func (i *ignoring) adopt(text []byte) {
	var lines []string
	if text != nil {
		lines = strings.Split(string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), "\n")
	}
	own, err := parseIgnore(lines)
	if err != nil {
		i.reject(InvalidIgnore, err.Error())
		return
	}
	globs, err := parseIgnore(i.globs)
	if err != nil {
		globs = nil // CheckIgnore told of it
	}
	i.text, i.rules = text, append(own, globs...)
}

func (i *ignoring) reject(why SkipReason, detail string) {
	i.skip = &Skip{IgnoreFile, why, detail}
}

func readIgnoreFile(root *os.Root) ([]byte, error) {
	file, err := root.OpenFile(IgnoreFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxIgnoreBytes+1))
	if err == nil && len(text) > maxIgnoreBytes {
		err = fmt.Errorf("more than %d bytes", maxIgnoreBytes)
	}
	return text, err
}

func sameSkip(a, b *Skip) bool { return a == b || a != nil && b != nil && *a == *b }
