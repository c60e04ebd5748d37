package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/engine"
)

// The special values of --state-dir.
const (
	stateAuto = "auto"
	stateNone = "none"
)

// stateOptions are the flags for the saved state, which the next start of gatefold reads.
type stateOptions struct {
	dir     string // a path, stateAuto, stateNone, or ""
	secrets bool
}

func (o *stateOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "state-dir", stateAuto,
		"directory for the last valid configuration, used at a restart while the folder is broken or missing: PATH, none or auto\n"+
			"(systemd's $STATE_DIRECTORY, else a folder of its own for DIR below $XDG_STATE_HOME or ~/.local/state)")
	flags.BoolVar(&o.secrets, "state-secrets", false, "let --state-dir hold Secrets and the users of basicAuth, in clear text")
}

// of returns the settings with which the engine saves the state for the folder dir. The error means that the
// working directory is not known.
func (o *stateOptions) of(dir string) (engine.State, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return engine.State{}, err
	}
	place, named := o.place(root)
	return engine.State{Dir: place, Named: named, Secrets: o.secrets}, nil
}

// off reports whether the flags say that no state is to be saved.
func (o *stateOptions) off() bool { return o.dir == "" || o.dir == stateNone }

// place returns the folder in which the state is saved. The parameter root is the absolute path of the served
// folder. The result dir is "" if the user wants no state, or if no home directory is known. The result named is
// true if the user or systemd chose the folder dir (see engine.State).
func (o *stateOptions) place(root string) (dir string, named bool) {
	switch {
	case o.off():
		return "", false
	case o.dir != stateAuto:
		return o.dir, true
	}
	if list := filepath.SplitList(os.Getenv("STATE_DIRECTORY")); len(list) > 0 {
		return list[0], true
	}
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", false
		}
		base = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(base, "gatefold", hex.EncodeToString(sum[:8])), false
}
