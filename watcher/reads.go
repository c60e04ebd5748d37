package watcher

import (
	"path"
	"strings"
)

// Reads reports whether the watcher would read a regular file with this name. The file need not exist. The name is a
// path relative to the root, with slashes. Reads checks the name with Options.Takes and with the patterns of
// Options.Ignore. Files that are hidden or in a hidden directory are not read. The result is also false if the root
// cannot be opened.
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

// pathParts returns an iterator over the directories above a file, and then the file itself. The parameter name
// is the path of the file. The iterator yields the path of each, which ends in "/" for a directory, and the
// last element of that path.
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
