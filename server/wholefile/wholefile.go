// Package wholefile writes files that are read whole or not at all.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts text at path by a rename: a reader finds the file as it was or as it is now, also after the
// machine stops in the middle. After an error the file is as it was, and no other is left. Files of
// the folder whose names begin with "." and the name of the file are not read by anybody.
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
