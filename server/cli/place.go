package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// pathPrefix returns what messages show in front of the path of a file in the folder dir: "conf" for `validate
// conf`. It returns "" for the working directory itself. An absolute path becomes relative if the folder is
// inside of the working directory. Other paths are only cleaned.
func pathPrefix(dir string) string {
	if !filepath.IsAbs(dir) {
		return emptyForDot(filepath.ToSlash(filepath.Clean(dir)))
	}
	if base, err := os.Getwd(); err == nil {
		return prefixFrom(base, dir)
	}
	return filepath.ToSlash(filepath.Clean(dir))
}

// repositoryPrefix returns what messages show in front of the path of a file in the folder dir, so that the
// whole path is relative to the root of the repository. The root is GITHUB_WORKSPACE if that contains the
// working directory, and otherwise the working directory. For a folder outside of the root, it returns the
// absolute path.
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

// prefixFrom returns the path of dir relative to base, or "" if both are the same. Both must be absolute. If
// dir is outside of base, it returns dir.
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

// inside reports whether the folder dir is the same as base, or is somewhere below base.
func inside(base, dir string) bool {
	relative, err := filepath.Rel(base, dir)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// realPath returns the absolute path without symbolic links. If the links cannot be resolved, it returns the
// absolute path.
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

// emptyForDot returns "" for the path ".", and any other path unchanged.
func emptyForDot(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}
