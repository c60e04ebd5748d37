package watcher

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errNotDir is the system's error for a root that is not a directory.
const errNotDir = syscall.ENOTDIR

// maxHops is how many links the path to the root may contain, as in the kernel.
const maxHops = 40

// place is the directory to which the path of the root leads at one moment. The path may contain links, which
// can change later. All reads for one Tree use the same directory.
type place struct {
	// path is the path of the directory, without links.
	path string
	// id distinguishes the directory from another directory with the same path.
	id identity
	// revision is the last element of path if the root is a link, otherwise "".
	revision string
	// via are paths that can change where the root leads, if they are replaced: the links on the path, and then
	// the directory itself. If a part of the path is missing, via ends with the first missing part.
	via []string
}

// same reports whether the places p and q are the same directory (device and inode) with the same path.
func (p place) same(q place) bool { return p.path == q.path && p.id == q.id }

// openRoot follows the links in a path and opens the directory to which they lead. The parameter name is the path.
// If openRoot returns an error, only the field via of the place is complete, so that the caller can watch the
// paths in via.
func openRoot(name string) (*os.Root, place, error) {
	at, err := resolve(name)
	if err != nil {
		return nil, at, err
	}
	if info, err := os.Lstat(at.path); err == nil && !info.IsDir() {
		return nil, at, &fs.PathError{Op: "open", Path: at.path, Err: errNotDir} // OpenRoot returns another error
	}
	root, err := os.OpenRoot(at.path)
	if err != nil {
		return nil, at, err
	}
	info, err := root.Stat(".")
	if err != nil {
		root.Close()
		return nil, at, err
	}
	at.id = signatureOf(info).identity
	return root, at, nil
}

// resolve follows the links in a path one by one. The parameter name is the path. resolve returns the place of the
// directory, without the id. If it returns an error, the field via of the place has the paths up to the failure.
func resolve(name string) (place, error) {
	at := place{path: "/"}
	abs, err := filepath.Abs(name)
	if err != nil {
		return at, err
	}
	hops, rest := 0, elements(abs)
	for len(rest) > 0 {
		next := filepath.Join(at.path, rest[0]) // ".." is safe: at.path is free of links
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err == nil {
			at.via = append(at.via, next)
			if hops++; hops > maxHops {
				return at, &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
			}
			if filepath.IsAbs(target) {
				at.path = "/"
			}
			rest = append(elements(target), rest...)
			continue
		}
		if _, err := os.Lstat(next); err != nil {
			at.via = append(at.via, next)
			return at, err
		}
		at.path = next
	}
	at.via = append(at.via, at.path)
	if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		at.revision = filepath.Base(at.path)
	}
	return at, nil
}

// elements splits a path into its elements, without empty ones.
func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}
