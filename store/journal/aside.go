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

// SetAside renames the journal in the state folder dir and returns its new path. The next start then does not
// read the journal, and a person can examine it. Only the newest maxAside renamed journals are kept. SetAside
// returns "" and an error if the journal cannot be renamed. If only an older journal cannot be removed, it
// returns the path and an error. If a Journal is open, its next Write writes a new file.
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
