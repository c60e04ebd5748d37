// Package wholefile writes files so that a reader never sees half of a file.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes text to the file at path, by a rename: a reader gets the old or the new content, even if the
// machine stops meanwhile. After an error, the file is unchanged, and no temporary file is left. The name of
// the temporary file begins with "." and the name of the file; gatefold does not read such files of the folder.
func Replace(path string, text []byte, mode fs.FileMode) error {
	next, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Chmod(mode), next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
