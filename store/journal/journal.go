// Package journal saves the served objects of a store.Store on disk, so that gatefold serves them again after a
// restart.
//
// A journal is one file. Each change is appended and made durable as a whole. If the process or the machine
// stops at any moment, the file has what was served at some moment, never a mixture. Appending leaves outdated
// lines in the file. So when the file has grown much (slack), a new file is written next to the old file, and
// renamed. Damaged lines are counted and left out. They are reported, and are no error.
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

// ErrInUse means that another gatefold has locked the folder.
var ErrInUse = errors.New("another gatefold uses it")

// Options configure a journal, and say what the journal must match.
type Options struct {
	// Dir is the folder of the state. If it does not exist, it is created with access for its owner only.
	Dir string
	// Root is the absolute path of the served folder. The state of another folder is not used.
	Root string
	// Fingerprint returns schema.Fingerprint. It is slow, so it is called only if a journal is read or
	// rewritten. A result of "" matches nothing.
	Fingerprint func() string
	// MaxBytes limits the size of what is read from a journal, in bytes. If the fields Text of all objects
	// (store.Saved) are larger than MaxBytes in total, the journal is not used. The same limit applies to the
	// fields Checked of all objects: each field Checked that would exceed it is left out, and its object is read
	// from Text instead. 0 means 512 MiB.
	MaxBytes int64
}

// The files in Options.Dir.
const (
	nameOfLock    = "lock"
	nameOfJournal = "journal"
	nameOfNext    = "journal.new"
)

// slack limits how many bytes a journal may grow in addition to doubling. When a journal is opened or rewritten, the
// bytes of the lines that are not outdated are counted. Once the journal is longer than twice this number plus slack,
// it is rewritten.
const slack = 1 << 20

// Journal is an open journal that this process has locked. Only one goroutine may use it.
type Journal struct {
	options Options
	lock    *os.File
	file    *os.File // nil: must be rewritten
	size    int64
	enough  int64 // size above which it is rewritten
}

// Content is what Open read.
type Content struct {
	Saved []store.Saved
	// Sound is true if the content was validated under the same Fingerprint, so that Store.Restore need not
	// validate it again.
	Sound bool
	// Problem says what could not be used. It is "" if everything could be used.
	Problem string
}

// Open locks Options.Dir, and opens and reads the journal in it. It returns an error that wraps ErrInUse if
// another gatefold has locked the folder. Any other error says why nothing can be saved there. A journal that
// cannot be read is no error; it is a Problem of the Content.
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

// openSafely opens and reads the journal. After a panic it renames the journal (SetAside), so that the next
// start does not panic too. The Content then has only a Problem.
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

// take creates the state folder if necessary, and locks it for this process. It returns an error that wraps
// ErrInUse if another process has locked the folder. Any other error says why gatefold cannot use the folder.
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
	_ = lock.Truncate(0) // the process number is for people
	_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	j.lock = lock
	return nil
}

// holder returns an error that wraps ErrInUse, with the number of the process that has the lock. If the number
// cannot be read, it returns ErrInUse.
func holder(lock *os.File) error {
	text := make([]byte, 16)
	n, _ := lock.ReadAt(text, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
		return fmt.Errorf("%w (process %d)", ErrInUse, pid)
	}
	return ErrInUse
}

// open reads the journal and returns its content. If the content has no Problem, and the schema.Fingerprint in
// the journal is the current one, the next Write appends to the file. Otherwise the next Write rewrites it.
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
	_ = file.Close() // ignored: nothing was written to it
	return content
}

// Write makes changes durable. If it must rewrite the journal, it calls the function all, which must return
// every object to be saved, with the changes included. After an error, the next Open finds either all of the
// changes or none of them.
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
	j.enough = 2 * j.size // so that a failed rewrite is not repeated at every change
	_ = j.rewrite(all())  // ignored: the old file is complete, only longer
	return nil
}

// keepLock does nothing if this process still has the folder's lock file locked. If the folder or the lock file
// was removed or replaced, keepLock closes the journal, and locks the folder again with the method take. It returns
// an error if take does.
func (j *Journal) keepLock() error {
	if j.lock != nil && same(j.lock, j.path(nameOfLock)) {
		return nil
	}
	j.Close()
	return j.take()
}

// valid reports whether the journal's file is still in the folder, with the size that it had after the last
// Write.
func (j *Journal) valid() bool {
	info, err := j.file.Stat()
	return err == nil && info.Size() == j.size && same(j.file, j.path(nameOfJournal))
}

// same reports whether the open file is the one at path. It returns false if path is a link to the file.
func same(file *os.File, path string) bool {
	there, err := os.Lstat(path)
	here, err2 := file.Stat()
	return err == nil && err2 == nil && os.SameFile(there, here)
}

// append adds changes to the end of the journal's file, and makes them durable. After an error, the file is as
// it was before, or the next Write rewrites it.
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
			_ = j.file.Close() // the next Write rewrites it
			j.file = nil
		}
		return cause(err)
	}
	j.size += w.size
	return nil
}

// rewrite replaces the journal by a new file with the objects in the parameter all. The last two steps are to rename
// the new file and to make the rename durable. If the last step fails, the new file has already replaced the old
// one. After any other error, the old file is still there.
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
		_ = os.Remove(next) // to free space on the disk
		return fmt.Errorf("%s: %w", nameOfJournal, cause(err))
	}
	if j.file != nil {
		_ = j.file.Close() // ignored: it is replaced
	}
	j.file, j.size = file, w.size
	j.enough = 2*w.size + slack
	return j.syncDir()
}

// syncDir makes a rename in the folder durable. It returns the error of the system.
func (j *Journal) syncDir() error {
	dir, err := os.Open(j.options.Dir)
	if err != nil {
		return cause(err)
	}
	defer dir.Close()
	return cause(dir.Sync())
}

// Forget makes the next Write rewrite the whole journal. Objects that are only in the old file are then lost.
func (j *Journal) Forget() {
	if j.file != nil {
		_ = j.file.Close() // ignored: nothing was written to it
		j.file = nil
	}
}

// Close closes the files and unlocks the folder.
func (j *Journal) Close() {
	if j.lock != nil {
		// Closing the file would not unlock the folder while a child process is being started: until the child
		// runs its program, it has a copy of every open file.
		_ = syscall.Flock(int(j.lock.Fd()), syscall.LOCK_UN) // ignored: closing the file is the other way to unlock
	}
	for _, file := range []*os.File{j.file, j.lock} {
		if file != nil {
			_ = file.Close() // ignored: all is durable, or Write returned an error
		}
	}
	j.file, j.lock = nil, nil
}

// openOwn opens a regular file of this user or of root. It returns an error for a link, or for a file that
// other users own or can write. Only this user can read a file that openOwn creates.
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

// trusted returns an error if a file belongs neither to the user who runs gatefold nor to root, or if its mode lets
// other users write it. The parameters info and err are the results of Stat for the file. If err is not nil, trusted
// returns the error of Stat without the path (see the function cause).
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

// cause returns the system's error without the path, because the caller adds the path. It returns other errors,
// and nil, unchanged.
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
