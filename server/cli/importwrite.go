package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/importer"
)

// checkFolders checks the values of --out and --secret-dir (the parameters out and secrets), which may be "". It
// returns an error in these cases:
//   - A folder cannot be read. A missing folder is no error.
//   - A folder is not empty, and force is false.
//   - The folder for Secrets is the folder of --out, or is inside of it.
//   - The working directory is not known.
func checkFolders(out, secrets string, force bool) error {
	for flag, dir := range map[string]string{"--out": out, "--secret-dir": secrets} {
		if dir == "" {
			continue
		}
		entries, err := os.ReadDir(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("%s: %w", flag, err)
		case len(entries) > 0 && !force:
			return fmt.Errorf("%s: %s is not empty; name another folder, or use --force", flag, dir)
		}
	}
	if secrets == "" {
		return nil
	}
	within, err := sameOrBelow(secrets, out)
	if err == nil && within {
		err = errors.New("--secret-dir: it must be outside of --out: that folder is shared")
	}
	return err
}

// sameOrBelow reports whether the path dir is the same as folder, or is inside of it, after symbolic links are
// resolved. The paths need not exist. The error means that the working directory is not known.
func sameOrBelow(dir, folder string) (bool, error) {
	below, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	above, err := filepath.Abs(folder)
	if err != nil {
		return false, err
	}
	return inside(resolved(above), resolved(below)), nil
}

// resolved returns a path with its symbolic links resolved. Elements of the path that cannot be resolved, for
// example because they do not exist, stay unchanged.
func resolved(name string) string {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		return target
	}
	if parent := filepath.Dir(name); parent != name {
		return filepath.Join(resolved(parent), filepath.Base(name))
	}
	return name
}

// write writes the files. Only the owner of a file with a Secret can read that file. If one of the files exists
// already, write returns an error before it writes any, unless --force is set. If writing fails later, the error
// has the number of files that were written. A link cannot lead out of the folders.
func (f *importFlags) write(files []importer.File) error {
	if len(files) == 0 {
		return nil
	}
	out, err := openFolder(f.out, 0o755)
	if err != nil {
		return err
	}
	defer out.Close()
	secrets := out
	if f.secrets != "" {
		if secrets, err = openFolder(f.secrets, 0o700); err != nil {
			return err
		}
		defer secrets.Close()
	}
	root := func(file importer.File) *os.Root {
		if file.Secret {
			return secrets
		}
		return out
	}
	for _, file := range files {
		if _, err := root(file).Lstat(file.Path); err == nil && !f.force {
			return fmt.Errorf("%s is there already; nothing is written without --force", file.Path)
		}
	}
	for i, file := range inOrder(files) {
		if err := writeImported(root(file), file); err != nil {
			return fmt.Errorf("%w; %d files are written, do not serve them without the others", err, i)
		}
	}
	return nil
}

// inOrder returns the files in the order to write them: first Secrets, then objects that are neither routes nor
// listeners (for example policies), then routes, and then Gateways and ListenerSets. So routes are never served
// without their protection while files are written, or after a write failed.
func inOrder(files []importer.File) []importer.File {
	rank := func(file importer.File) int {
		kind, _, _ := strings.Cut(path.Base(file.Path), "-")
		switch {
		case file.Secret:
			return 0
		case kind == "gateway", kind == "listenerset":
			return 3
		case strings.HasSuffix(kind, "route"):
			return 2
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(files), func(a, b importer.File) int { return cmp.Compare(rank(a), rank(b)) })
}

// openFolder creates a folder if it is missing, and opens it. It returns an error if one of these steps fails.
func openFolder(dir string, mode os.FileMode) (*os.Root, error) {
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// writeImported writes a file. It removes an existing file first, because that file may have another mode. It
// returns an error if the file cannot be written.
func writeImported(root *os.Root, file importer.File) error {
	folders, mode := os.FileMode(0o755), os.FileMode(0o644)
	if file.Secret {
		folders, mode = 0o700, 0o600
	}
	if err := root.MkdirAll(path.Dir(file.Path), folders); err != nil {
		return err
	}
	if err := root.Remove(file.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := root.OpenFile(file.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = to.Write(file.Content)
	return errors.Join(err, to.Close())
}
