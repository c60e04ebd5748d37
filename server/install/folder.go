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
	// systemRoot is where root installs, for all users.
	systemRoot = "/usr/local/lib/gatefold/envoy"
	// current is a link to the version in use.
	current       = "current"
	scratchPrefix = ".install-"
)

// Root returns the folder that this user installs into: /usr/local/lib/gatefold/envoy for root,
// else gatefold/envoy below $XDG_DATA_HOME or ~/.local/share.
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

// InUse returns the path of the Envoy in use: that of this user, else that of root; "" for none.
func InUse() string {
	roots := []string{systemRoot}
	if own, err := Root(); err == nil {
		roots = []string{own, systemRoot}
	}
	return inUse(roots)
}

func inUse(roots []string) string {
	for _, root := range roots {
		// The path has the version in it: another one is another Envoy.
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

// List returns the installed Envoys of a root, the newest first.
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

// Use puts an installed version into use.
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

// use replaces the link by a rename: it leads to the old or the new version at any time.
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

// lock waits until no other run changes the root. The kernel takes the lock from a run that is killed.
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

// sweep removes what runs that were killed have left. It is called under the lock.
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

// syncFolder makes renames in a folder last over a loss of power.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
