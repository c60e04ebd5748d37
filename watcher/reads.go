package watcher

import (
	"path"
	"strings"
)

// Reads reports whether a regular file at a path of the folder would be read; it need not exist.
// The result depends on its name, the names of its directories, and the patterns of Ignore. The
// path is relative to the root, with slashes.
func Reads(opt Options, name string) bool {
	opt = opt.withDefaults()
	if !opt.Takes(path.Base(name)) {
		return false
	}
	root, _, err := openRoot(opt.Root)
	if err != nil {
		return false
	}
	defer root.Close()
	ignore := newIgnoring(opt)
	ignore.refresh(root)
	for at, part := range pathParts(name) {
		if strings.HasPrefix(part, ".") || ignore.rules.match(at) {
			return false
		}
	}
	return true
}

// pathParts yields each directory of a path, with "/" at its end, and the path itself, with their
// last names.
func pathParts(name string) func(yield func(at, part string) bool) {
	return func(yield func(at, part string) bool) {
		for i, c := range name + "/" {
			if c != '/' {
				continue
			}
			at := name[:min(i+1, len(name))]
			if !yield(at, path.Base(at)) {
				return
			}
		}
	}
}
