package watcher

import "strings"

// Selects returns a function that reports whether the watcher reads the file at a path, which is relative to
// the root and has slashes. ignoreFile is the content of the folder's IgnoreFile, or nil if there is none; it
// counts only if o.Ignore.File is IgnoreRead. The function knows only the path: it does not check limits, links
// and the type of the file.
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

// WithDefaults returns the limits with defaults for zero values.
func (l Limits) WithDefaults() Limits { return l.withDefaults() }
