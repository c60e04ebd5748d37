package watcher

import "strings"

// Reads reports whether the watcher would read a regular file with this name. The file need not exist. The name is a
// path relative to the root, with slashes. The result is also false if the root cannot be opened.
func Reads(opt Options, name string) bool {
	opt = opt.withDefaults()
	root, _, err := openRoot(opt.Root)
	if err != nil {
		return false
	}
	defer root.Close()
	ignore := newIgnoring(opt)
	ignore.refresh(root)
	return opt.selects(ignore.rules, name)
}

// Selects returns a function that reports whether the watcher reads the file at a path, which is relative to
// the root and has slashes. ignoreFile is the content of the folder's IgnoreFile, or nil if there is none; it
// counts only if o.Ignore.File is IgnoreRead.
func (o Options) Selects(ignoreFile []byte) func(file string) bool {
	o = o.withDefaults()
	ignore := newIgnoring(o)
	if o.Ignore.File == IgnoreRead {
		ignore.adopt(ignoreFile)
	}
	return func(file string) bool { return o.selects(ignore.rules, file) }
}

// selects reports whether a file is read, by its path: hidden files and directories are not, nor what the rules leave
// out. It does not check limits, links and the type of the file.
func (o Options) selects(ignored ignoreRules, file string) bool {
	for i, c := range file {
		if c == '/' && ignored.match(file[:i+1]) {
			return false
		}
	}
	hidden := strings.HasPrefix(file, ".") || strings.Contains(file, "/.")
	return !hidden && !ignored.match(file) && o.Takes(file[strings.LastIndex(file, "/")+1:])
}

// WithDefaults returns the limits with defaults for zero values.
func (l Limits) WithDefaults() Limits { return l.withDefaults() }
