package watcher

import (
	"path"
	"strings"
)

// Reads reports whether a regular file at a path of the folder would be read, whether it is there
// or not: by its name, the names of its directories, and what is left out. The path is slash
// separated and relative to the root.
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
