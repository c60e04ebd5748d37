package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// systemRoot is the folder where root installs Envoys, for all users.
	systemRoot = "/usr/local/lib/gatefold/envoy"
	// current is the name of a link to the version in use.
	current = "current"
	// scratchPrefix is the start of the names of temporary folders.
	scratchPrefix = ".install-"
)

// Root returns the folder where this user installs Envoys. For root it is /usr/local/lib/gatefold/envoy. For
// other users it is gatefold/envoy below $XDG_DATA_HOME, or below ~/.local/share if XDG_DATA_HOME is no absolute
// path. It returns an error if the home folder is needed and not known.
func Root() (string, error) {
	if os.Geteuid() == 0 {
		return systemRoot, nil
	}
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", errors.New("no folder to install into: set XDG_DATA_HOME, or run this as root")
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "gatefold", "envoy"), nil
}

// InUse returns the path of the Envoy binary that is in use: the one that this user installed or, if there is
// none, the one that root installed. It returns "" if neither has installed an Envoy.
func InUse() string {
	roots := []string{systemRoot}
	if own, err := Root(); err == nil {
		roots = []string{own, systemRoot}
	}
	return inUse(roots)
}

// inUse returns the path of the Envoy in use in the first of the roots (folders of installed versions) that has
// one. It returns "" if no root has one.
func inUse(roots []string) string {
	for _, root := range roots {
		// Return the path with the version instead of the link, so that another version has another path.
		folder, err := filepath.EvalSymlinks(filepath.Join(root, current))
		if err != nil {
			continue
		}
		path := filepath.Join(folder, "envoy")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// List returns the installed Envoys of a root, the newest first. The list is empty if the root does not exist.
// It returns an error if the root cannot be read.
func List(root string) ([]Envoy, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	used, _ := os.Readlink(filepath.Join(root, current))
	list := []Envoy{}
	for _, entry := range entries {
		path := filepath.Join(root, entry.Name(), "envoy")
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !aVersion.MatchString(entry.Name()) {
			continue
		}
		list = append(list, Envoy{Version: entry.Name(), Path: path, InUse: entry.Name() == used})
	}
	slices.SortFunc(list, func(a, b Envoy) int { return compare(b.Version, a.Version) })
	return list, nil
}

// Use makes an installed version the one in use. It returns an error if the version is not installed.
func Use(root, version string) error {
	list, err := List(root)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(e Envoy) bool { return e.Version == version }) {
		return fmt.Errorf("envoy %q is not installed in %s; run: gatefold envoy install --version %s", version, root, Default)
	}
	unlock, err := lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	return use(root, version)
}

// use makes a version the one in use: it replaces the link named "current" by a rename, so that the link always
// leads to the old or to the new version. It returns an error if the link cannot be replaced.
func use(root, version string) error {
	scratch, err := os.MkdirTemp(root, scratchPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	link := filepath.Join(scratch, current)
	if err := os.Symlink(version, link); err != nil {
		return err
	}
	if err := os.Rename(link, filepath.Join(root, current)); err != nil {
		return err
	}
	return syncFolder(root)
}

// lock locks the folder of the installed versions (root) against other processes. If another process has the
// lock, it waits. The caller releases the lock by unlock; if the process is killed, the kernel releases it. It
// returns an error if the lock file cannot be opened or locked.
func lock(root string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(root, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", root, err)
	}
	return func() { _ = file.Close() }, nil
}

// sweep removes the temporary folders that killed processes left. The caller must have locked the root. It
// returns an error if the root cannot be read or a folder cannot be removed.
func sweep(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), scratchPrefix) {
			if err := os.RemoveAll(filepath.Join(root, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// syncFolder writes a folder to the disk, so that earlier renames in the folder survive a loss of power. It
// returns an error if the folder cannot be written to the disk.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
