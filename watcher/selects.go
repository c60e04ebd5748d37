package watcher

import "strings"

// Selects returns a function that reports whether the watcher reads the file of a path, relative to
// the root and slash separated, for a folder whose IgnoreFile has this text; nil is a folder without
// one. It knows paths alone: limits, links and kinds of files are not considered.
func (o Options) Selects(ignoreFile []byte) func(file string) bool {
	o = o.withDefaults()
	ignored := newIgnoring(o)
	if o.Ignore.File != IgnoreRead {
		ignoreFile = nil
	}
	ignored.adopt(ignoreFile)
	return func(file string) bool {
		for i, c := range file {
			if c == '/' && ignored.rules.match(file[:i+1]) {
				return false
			}
		}
		hidden := strings.HasPrefix(file, ".") || strings.Contains(file, "/.")
		return !hidden && !ignored.rules.match(file) && o.Takes(file[strings.LastIndex(file, "/")+1:])
	}
}

// WithDefaults returns the limits with their defaults in the place of those that are 0.
func (l Limits) WithDefaults() Limits { return l.withDefaults() }
