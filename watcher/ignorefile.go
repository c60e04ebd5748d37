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
)

// InvalidIgnore is the reason for a Skip of an IgnoreFile with a pattern that cannot be read.
const InvalidIgnore SkipReason = "InvalidIgnoreFile"

// IgnoreNotAllowed is the reason for a Skip of an IgnoreFile that is refused.
const IgnoreNotAllowed SkipReason = "IgnoreFileNotUsed"

// ignoring is what is left out of a folder, as it was read last.
type ignoring struct {
	use   IgnoreUse
	globs []string // of Ignore
	rules ignoreRules
	seen  signature // of the file; zero for none
	text  []byte
	skip  *Skip // why the file is not heeded
}

func newIgnoring(o Ignore) *ignoring {
	i := &ignoring{use: o.File, globs: o.Globs}
	if rules, err := parseIgnore(o.Globs); err == nil { // CheckIgnore told of the error
		i.rules = rules
	}
	return i
}

// moved reports whether the file may say something else than what was read.
func (i *ignoring) moved(root *os.Root) bool {
	if i.use == IgnoreNotRead {
		return false
	}
	info, err := root.Stat(IgnoreFile)
	if err != nil {
		return i.seen != signature{}
	}
	return signatureOf(info) != i.seen
}

// refresh reads the file. Patterns that cannot be read leave those of before in force.
func (i *ignoring) refresh(root *os.Root) {
	if i.use == IgnoreNotRead {
		return
	}
	i.skip = nil
	info, err := root.Stat(IgnoreFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.seen, i.text = signature{}, nil
		i.adopt(nil)
		return
	case err != nil:
		i.seen = signature{}
		i.refuse(Unreadable, reason(err).Error())
		return
	case i.use == IgnoreRefused:
		i.seen = signatureOf(info)
		i.refuse(IgnoreNotAllowed, "the file is not used: it does not lie in --cluster-paths, and could leave out files of others")
		return
	}
	i.seen = signatureOf(info)
	text, err := readIgnoreFile(root)
	if err != nil {
		i.refuse(Unreadable, reason(err).Error())
		return
	}
	if i.text == nil || !bytes.Equal(text, i.text) {
		i.adopt(text)
	}
}

// adopt puts what the file says in force; the globs come last and so win.
func (i *ignoring) adopt(text []byte) {
	var lines []string
	if text != nil {
		lines = strings.Split(string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), "\n")
	}
	own, err := parseIgnore(lines)
	if err != nil {
		i.refuse(InvalidIgnore, err.Error())
		return
	}
	globs, err := parseIgnore(i.globs)
	if err != nil {
		globs = nil // CheckIgnore told of it
	}
	i.text, i.rules = text, append(own, globs...)
}

func (i *ignoring) refuse(why SkipReason, detail string) {
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
