package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// pathPrefix returns the prefix of displayed paths, for people and tools in the working directory:
// "conf" for `validate conf`. A folder outside of the working directory keeps its absolute path. ""
// stands for the working directory itself.
func pathPrefix(dir string) string {
	if !filepath.IsAbs(dir) {
		return emptyForDot(filepath.ToSlash(filepath.Clean(dir)))
	}
	if base, err := os.Getwd(); err == nil {
		return prefixFrom(base, dir)
	}
	return filepath.ToSlash(filepath.Clean(dir))
}

// repositoryPrefix is pathPrefix relative to the root of a repository: GITHUB_WORKSPACE if that
// contains the working directory, else the working directory.
func repositoryPrefix(dir string) string {
	base, err := os.Getwd()
	if err != nil {
		return pathPrefix(dir)
	}
	if root := os.Getenv("GITHUB_WORKSPACE"); root != "" && inside(realPath(root), realPath(base)) {
		return prefixFrom(realPath(root), realPath(dir))
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return pathPrefix(dir)
	}
	return prefixFrom(base, absolute)
}

// prefixFrom returns the path of dir relative to base. Both are absolute. A dir outside of base
// stays absolute.
func prefixFrom(base, dir string) string {
	if !inside(base, dir) {
		return filepath.ToSlash(filepath.Clean(dir))
	}
	relative, err := filepath.Rel(base, dir)
	if err != nil {
		return filepath.ToSlash(filepath.Clean(dir))
	}
	return emptyForDot(filepath.ToSlash(relative))
}

// inside reports whether dir is base or below it.
func inside(base, dir string) bool {
	relative, err := filepath.Rel(base, dir)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// realPath returns the absolute path without symbolic links, or the path itself when it
// cannot be resolved.
func realPath(name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if resolved, err := filepath.EvalSymlinks(absolute); err == nil {
		return resolved
	}
	return absolute
}

func emptyForDot(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}
