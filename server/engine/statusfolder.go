package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/gatefold/gatefold/store/manifest"
)

// statusMark is the first line of every status file in --status-dir. gatefold does not remove a file without this
// line. It replaces such a file only if the file is empty.
const statusMark = "# Written by gatefold, which replaces and removes this file.\n"

// spareFile is the file to which a status is written before it is renamed.
const spareFile = ".gatefold.tmp"

// maxStatusBytes bounds how many bytes of a file are read to see whether the file must change.
const maxStatusBytes = 16 << 20

var (
	errNoSpare = errors.New("no file can be written")
	errForeign = errors.New("it is not gatefold's, and in the place of a file that is; move it away")
)

// statusFile returns the path of an object's file in --status-dir: GROUP/KIND/NAMESPACE/NAME.yaml. A name that
// is too long is cut, and ends in "~" and a hash. No valid name has "~".
func statusFile(key manifest.Key) string {
	const longest = 255 - len(".yaml") // a file name has 255 bytes at most
	name := key.Name
	if len(name) > longest {
		sum := sha256.Sum256([]byte(name))
		digest := "~" + hex.EncodeToString(sum[:8])
		name = name[:longest-len(digest)] + digest
	}
	return path.Join(cmp.Or(key.Group, "core"), key.Kind, cmp.Or(key.Namespace, "_cluster"), name+".yaml")
}

// statusFolder is --status-dir. No file name can lead out of it.
type statusFolder struct {
	dir  string
	root *os.Root // nil before the first open
}

// open opens the folder, and creates it if it is missing. anew is true at the first call, and if the folder was
// replaced or closed since the last call. It returns an error, with the path, if the folder cannot be used.
func (f *statusFolder) open() (anew bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("status folder %s: %w", f.dir, rootCause(err))
		}
	}()
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return false, err
	}
	now, err := os.Stat(f.dir)
	if err != nil {
		return false, err
	}
	if f.root != nil {
		if before, err := f.root.Stat("."); err == nil && os.SameFile(before, now) {
			return false, nil
		}
		f.close()
	}
	f.root, err = os.OpenRoot(f.dir)
	return err == nil, err
}

// close closes the folder, if it is open.
func (f *statusFolder) close() {
	if f.root != nil {
		f.root.Close()
		f.root = nil
	}
}

// files returns the paths of all files whose path has the form of a status file's path (see statusFile), whether
// gatefold wrote these files or not.
func (f *statusFolder) files() []string {
	found, err := fs.Glob(f.root.FS(), "*/*/*/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return found
}

// put writes statusMark and text to a file. It does not write if the file already has this content. It returns
// an error if another program wrote the file, or if the file cannot be written.
func (f *statusFolder) put(file string, text []byte) error {
	text = append([]byte(statusMark), text...)
	before, err := f.read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return f.failed(file, err)
	case bytes.Equal(before, text):
		return nil
	case len(before) > 0 && !isOurs(before): // a crash may leave an empty file
		return f.failed(file, errForeign)
	}
	if err := f.spare(text); err != nil {
		return fmt.Errorf("%w: %w", errNoSpare, f.failed(spareFile, err))
	}
	if err := f.root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return f.failed(file, err)
	}
	if err := f.root.Rename(spareFile, file); err != nil {
		return f.failed(file, err)
	}
	return nil
}

// spare writes text to spareFile. The caller then renames spareFile to the status file. If spareFile cannot be
// written, spare returns the error.
func (f *statusFolder) spare(text []byte) error {
	if err := f.root.Remove(spareFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.root.OpenFile(spareFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// remove removes a status file that gatefold wrote, and then the folders above the file that are empty. If the file
// does not exist, or another program wrote it, remove does nothing and returns nil. It returns an error if the file
// cannot be read or removed.
func (f *statusFolder) remove(file string) error {
	before, err := f.read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, errForeign):
		return nil
	case err != nil:
		return f.failed(file, err)
	case !isOurs(before):
		return nil
	}
	if err := f.root.Remove(file); err != nil {
		return f.failed(file, err)
	}
	for dir := path.Dir(file); dir != "." && f.removeEmpty(dir); dir = path.Dir(dir) {
		continue
	}
	return nil
}

// removeEmpty removes a folder if it is empty, and returns true if it was removed. It does not remove a symbolic
// link to a folder.
func (f *statusFolder) removeEmpty(dir string) bool {
	info, err := f.root.Lstat(dir)
	return err == nil && info.IsDir() && f.root.Remove(dir) == nil
}

// read returns the content of a file, at most maxStatusBytes. It returns errForeign if the file is not a
// regular file, and the error of the system if the file cannot be read.
func (f *statusFolder) read(file string) ([]byte, error) {
	info, err := f.root.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errForeign
	}
	opened, err := f.root.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return io.ReadAll(io.LimitReader(opened, maxStatusBytes))
}

// isOurs reports whether gatefold wrote the content of a file.
func isOurs(content []byte) bool { return bytes.HasPrefix(content, []byte(statusMark)) }

// failed adds the path of a file to an error.
func (f *statusFolder) failed(file string, err error) error {
	return fmt.Errorf("status file %s: %w", path.Join(f.dir, file), rootCause(err))
}

// rootCause returns the innermost error of a chain. The caller adds the path.
func rootCause(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}
