package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// asidePrefix is the prefix of the names of journals that could not be used.
const asidePrefix = nameOfJournal + ".unusable-"

// maxAside is how many unusable journals are kept for diagnosis: the newest.
const maxAside = 3

// SetAside renames the journal in the state folder dir and returns its new path. So no start reads it, and a
// person can examine it. Of all renamed journals, it keeps only the newest maxAside. It returns "" and an error
// if the journal cannot be renamed. If only the removal of older ones fails, it returns the path and an error.
// The next Write of an open Journal writes a new file.
func SetAside(dir string, now time.Time) (path string, err error) {
	path = filepath.Join(dir, asidePrefix+now.UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(filepath.Join(dir, nameOfJournal), path); err != nil {
		return "", err
	}
	older, err := filepath.Glob(filepath.Join(dir, asidePrefix+"*"))
	if err != nil {
		return path, err
	}
	slices.Sort(older)
	for _, old := range older[:max(0, len(older)-maxAside)] {
		err = errors.Join(err, os.Remove(old))
	}
	return path, err
}
