package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// statusDirOptions is the flag for the folder in which the status of each object is written as YAML.
type statusDirOptions struct {
	dir string // "" writes no files
}

func (o *statusDirOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "status-dir", "", "a folder of gatefold's own, where the status of every object is written as YAML: GROUP/KIND/NAMESPACE/NAME.yaml")
}

// check returns an error if the folder for status files is inside of a folder that gatefold reads, or contains
// one. Otherwise gatefold would read its own status files. A hidden folder inside of a read folder is allowed,
// because gatefold does not read hidden folders.
func (o *statusDirOptions) check(read ...string) error {
	if o.dir == "" {
		return nil
	}
	for _, folder := range read {
		if folder == "" {
			continue
		}
		written, err := landing(o.dir)
		if err != nil {
			return err
		}
		from, err := landing(folder)
		if err != nil {
			return err
		}
		if seenFrom(from, written) || seenFrom(written, from) {
			return fmt.Errorf("--status-dir %s: it and %s must not hold each other: gatefold would read what it writes; choose a folder beside, or a hidden one", o.dir, folder)
		}
	}
	return nil
}

// landing returns the absolute path with symbolic links resolved. The path need not exist. The error means that
// the working directory is not known.
func landing(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for missing := ""; ; at = filepath.Dir(at) {
		if found, err := filepath.EvalSymlinks(at); err == nil || at == filepath.Dir(at) {
			return filepath.Join(found, missing), nil
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}

// seenFrom reports whether a gatefold that reads the folder outer also reads the folder inner. The result is true
// if the two folders are the same. It is also true if inner is below outer and no name on the path from outer to
// inner begins with a dot: gatefold does not read hidden folders.
func seenFrom(outer, inner string) bool {
	way, err := filepath.Rel(outer, inner)
	if err != nil || way == "." {
		return err == nil
	}
	return !slices.ContainsFunc(strings.Split(way, string(filepath.Separator)), func(part string) bool { return strings.HasPrefix(part, ".") })
}
