// Package journal keeps on disk what a store.Store gives to be saved, so that a
// restart can go on from it.
//
// A journal is one file to which each change is appended and made durable as a
// whole: whatever moment the process, or the machine, ends at, what is read is
// what served at some moment, never a mixture. When more than half of it is
// outdated it is written anew beside and renamed. What is read is data of an
// unknown past: damaged lines are counted and left out, and nothing found there
// is an error.
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// ErrInUse means that another gatefold holds the folder.
var ErrInUse = errors.New("another gatefold uses it")

// Options configure a journal and what it must match.
type Options struct {
	// Dir is the folder of the state. If it does not exist, it is created with access for its
	// owner only.
	Dir string
	// Root is the absolute path of the served folder. The state of another folder is not used.
	Root string
	// Fingerprint returns schema.Fingerprint. It is slow, so it is called only when the journal
	// is read. A result of "" matches nothing.
	Fingerprint func() string
	// MaxBytes limits how many bytes of texts, and of objects made from them, are read; the
	// rest is left out. 0 means 512 MiB.
	MaxBytes int64
}

// The files in Options.Dir.
const (
	nameOfLock    = "lock"
	nameOfJournal = "journal"
	nameOfNext    = "journal.new"
)

// slack is how much of a journal may be outdated before it is written anew, in
// bytes, beside as much as is not.
const slack = 1 << 20

// Journal is an open journal, locked for this process. Only one goroutine may use it.
type Journal struct {
	options Options
	lock    *os.File
	file    *os.File // nil: must be written anew
	size    int64
	enough  int64 // size at which it is written anew
}

// Content is what Open found.
type Content struct {
	Saved []store.Saved
	// Sound is true if the content was validated under the same Fingerprint.
	Sound bool
	// Problem says what could not be used; "" if everything could.
	Problem string
}

// Open opens and reads the journal in Options.Dir. The error is ErrInUse, or says why nothing
// can be saved there.
func Open(options Options) (*Journal, Content, error) {
	if options.MaxBytes == 0 {
		options.MaxBytes = 512 << 20
	}
	j := &Journal{options: options}
	if err := j.take(); err != nil {
		return nil, Content{}, fmt.Errorf("state folder %s: %w", options.Dir, err)
	}
	return j, j.openSafely(), nil
}

// openSafely opens the journal. One that cannot be read for a mistake in gatefold is set aside, so
// that no start ends by it.
func (j *Journal) openSafely() (content Content) {
	defer func() {
		if recover() == nil {
			return
		}
		problem := fmt.Sprintf("%s: a mistake in gatefold (at %s)", nameOfJournal, strings.Join(store.PanickedAt(3), " < "))
		kept, err := SetAside(j.options.Dir, time.Now())
		if err != nil {
			problem += fmt.Sprintf("; it cannot be set aside: %v", cause(err))
		} else {
			problem += "; it is kept as " + filepath.Base(kept)
		}
		content = Content{Problem: problem + "; please report it"}
		j.Forget()
	}()
	return j.open()
}

func (j *Journal) path(name string) string { return filepath.Join(j.options.Dir, name) }

// take makes the folder and locks it for this process.
func (j *Journal) take() error {
	if err := os.MkdirAll(j.options.Dir, 0o700); err != nil {
		return cause(err)
	}
	if err := trusted(os.Stat(j.options.Dir)); err != nil {
		return err
	}
	lock, err := openOwn(j.path(nameOfLock), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("%s: %w", nameOfLock, cause(err))
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = holder(lock)
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	_ = lock.Truncate(0) // the number is for people
	_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	j.lock = lock
	return nil
}

// holder is ErrInUse with the number of the process.
func holder(lock *os.File) error {
	text := make([]byte, 16)
	n, _ := lock.ReadAt(text, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
		return fmt.Errorf("%w (process %d)", ErrInUse, pid)
	}
	return ErrInUse
}

// open reads the journal and makes ready to append to it, or to write it anew.
func (j *Journal) open() Content {
	j.size = 0
	file, err := openOwn(j.path(nameOfJournal), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return Content{}
	}
	if err != nil {
		return Content{Problem: nameOfJournal + ": " + cause(err).Error()}
	}
	r := &reading{options: j.options, saved: map[manifest.Key]found{}}
	content, end := r.all(file)
	if content.Problem == "" && content.Sound && file.Truncate(end) == nil {
		if _, err := file.Seek(end, 0); err == nil {
			j.file, j.size = file, end
			live := int64(0) // bytes of lines that are not outdated
			for _, f := range r.saved {
				live += f.length
			}
			j.enough = 2*live + slack
			return content
		}
	}
	_ = file.Close() // nothing was written to it
	return content
}

// Write makes changes durable. all returns everything that must be saved, those changes
// included; Write calls it if the journal has to be rewritten. After an error, the next Open
// finds either all or none of the changes.
func (j *Journal) Write(changes []store.Saved, all func() []store.Saved) error {
	if err := j.keepLock(); err != nil {
		return err
	}
	if j.file == nil || !j.valid() {
		return j.rewrite(all())
	}
	if err := j.append(changes); err != nil {
		return err
	}
	if j.size <= j.enough {
		return nil
	}
	j.enough = 2 * j.size // where it fails, it is not tried at every change
	_ = j.rewrite(all())  // what is there holds all, but is longer than it need be
	return nil
}

// keepLock takes the lock again when the folder was removed or replaced.
func (j *Journal) keepLock() error {
	if j.lock != nil && same(j.lock, j.path(nameOfLock)) {
		return nil
	}
	j.Close()
	return j.take()
}

// valid reports whether the file is still there as it was written last.
func (j *Journal) valid() bool {
	info, err := j.file.Stat()
	return err == nil && info.Size() == j.size && same(j.file, j.path(nameOfJournal))
}

func same(file *os.File, path string) bool {
	there, err := os.Lstat(path)
	here, err2 := file.Stat()
	return err == nil && err2 == nil && os.SameFile(there, here)
}

// append adds changes, or leaves the file as it was.
func (j *Journal) append(changes []store.Saved) error {
	if len(changes) == 0 {
		return nil
	}
	w := &writing{out: bufio.NewWriterSize(j.file, 1<<16)}
	for _, saved := range changes {
		w.record(saved)
	}
	w.commit(len(changes))
	err := w.flush()
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		_, seek := j.file.Seek(j.size, 0)
		if truncate := j.file.Truncate(j.size); truncate != nil || seek != nil {
			_ = j.file.Close() // it is written anew
			j.file = nil
		}
		return cause(err)
	}
	j.size += w.size
	return nil
}

// rewrite puts a journal that holds all in the place of the one before.
func (j *Journal) rewrite(all []store.Saved) error {
	next := j.path(nameOfNext)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", nameOfNext, cause(err))
	}
	file, err := openOwn(next, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("%s: %w", nameOfNext, cause(err))
	}
	w := &writing{out: bufio.NewWriterSize(file, 1<<16)}
	w.header(j.options)
	for _, saved := range all {
		w.record(saved)
	}
	w.commit(len(all))
	if err = w.flush(); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(next, j.path(nameOfJournal))
	}
	if err != nil {
		_ = file.Close()
		_ = os.Remove(next) // it takes room that is wanted
		return fmt.Errorf("%s: %w", nameOfJournal, cause(err))
	}
	if j.file != nil {
		_ = j.file.Close() // it is replaced
	}
	j.file, j.size = file, w.size
	j.enough = 2*w.size + slack
	return j.syncDir()
}

// syncDir makes a rename durable.
func (j *Journal) syncDir() error {
	dir, err := os.Open(j.options.Dir)
	if err != nil {
		return cause(err)
	}
	defer dir.Close()
	return cause(dir.Sync())
}

// Forget makes the next Write rewrite the journal without its old content.
func (j *Journal) Forget() {
	if j.file != nil {
		_ = j.file.Close() // nothing was written to it
		j.file = nil
	}
}

// Close unlocks the folder.
func (j *Journal) Close() {
	for _, file := range []*os.File{j.file, j.lock} {
		if file != nil {
			_ = file.Close() // all is durable, or an error was returned
		}
	}
	j.file, j.lock = nil, nil
}

// openOwn opens a regular file of this user that no other can write, and no
// link. A file that is made is for this user alone.
func openOwn(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err := errors.Join(err, trusted(info, err)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// trusted rejects what other users own or may write.
func trusted(info fs.FileInfo, err error) error {
	if err != nil {
		return cause(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users can write it (mode %04o)", info.Mode().Perm())
	case ok && int(owner.Uid) != os.Geteuid() && owner.Uid != 0:
		return fmt.Errorf("it belongs to another user (number %d)", owner.Uid)
	}
	return nil
}

// cause is the system's word without the path, which the caller names.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
