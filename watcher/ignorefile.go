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

// IgnoreNotAllowed is the reason for the Skip of an IgnoreFile that is not used because the options forbid it
// (Ignore.File is IgnoreForbidden).
const IgnoreNotAllowed SkipReason = "IgnoreFileNotUsed"

// ignoring has the patterns by which files are left out now, and the state of the IgnoreFile.
type ignoring struct {
	use   IgnoreUse
	globs []string // Ignore.Globs
	rules ignoreRules
	seen  signature // the signature of the IgnoreFile; zero if there is none or it cannot be read
	text  []byte    // the content with the active patterns; nil if there is none
	skip  *Skip     // why the IgnoreFile is not used; nil if it is used or does not exist

	quiet, longest time.Duration // Options.Quiet and MaxOpen
	// known is true after the first refresh.
	known bool
	// since is when the IgnoreFile was first seen to change. It is zero if the file is not being changed.
	since time.Time
	gone  time.Time // when the IgnoreFile was first missing
}

// newIgnoring returns the initial state (the type ignoring) for the options opt. It has the patterns of
// opt.Ignore.Globs. newIgnoring does not read the IgnoreFile.
func newIgnoring(opt Options) *ignoring {
	i := &ignoring{use: opt.Ignore.File, globs: opt.Ignore.Globs, quiet: opt.Quiet, longest: opt.MaxOpen}
	if rules, err := parseIgnore(i.globs); err == nil { // CheckIgnore has reported the error
		i.rules = rules
	}
	return i
}

// waits reports whether the IgnoreFile is being changed, so that its earlier patterns are still used.
func (i *ignoring) waits() bool { return !i.since.IsZero() }

// moved reports whether the IgnoreFile may have changed since refresh last read it, so that a full scan is needed.
// If i.use is IgnoreNotRead, moved returns false. It also returns false while a program is changing the file (see
// waits), because full scans follow anyway.
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

// refresh reads the IgnoreFile, and uses its patterns from now on. If the file cannot be read, has an invalid
// pattern or must not be used, the earlier patterns stay in use, and i.skip has the problem. If there is no
// IgnoreFile, only Ignore.Globs are used. With IgnoreNotRead, refresh does nothing. While a program is changing the
// file, refresh does nothing either, for at most Options.MaxOpen; but the first call always reads the file.
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

// unfinished reports whether the IgnoreFile is probably being changed: it vanished or was written less than
// Options.Quiet ago, or a program has it open for writing. info and err are the result of Stat for the file.
// Half of an IgnoreFile would let the watcher read files that are to be left out.
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

// ignoreFileOpen reports whether a program has the IgnoreFile open for writing. It returns false if the file
// cannot be opened, or if the system does not report it (openForWriting).
func ignoreFileOpen(root *os.Root) bool {
	file, err := root.OpenFile(IgnoreFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return openForWriting(file)
}

// adopt uses the patterns in text, the content of the IgnoreFile, from now on. text is nil if there is no
// IgnoreFile. The patterns of Ignore.Globs follow those of the file, and so take precedence. If a pattern of
// the file is invalid, the earlier patterns stay in use, and i.skip has the problem.
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
		globs = nil // CheckIgnore has reported the error
	}
	i.text, i.rules = text, append(own, globs...)
}

func (i *ignoring) reject(why SkipReason, detail string) {
	i.skip = &Skip{IgnoreFile, why, detail}
}

// readIgnoreFile returns the content of the IgnoreFile. It returns an error if the file cannot be read, is not
// a regular file, or is larger than maxIgnoreBytes.
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

// sameSkip reports whether a and b are equal or both nil.
func sameSkip(a, b *Skip) bool { return a == b || a != nil && b != nil && *a == *b }
