package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/engine"
)

// The words that --state-dir takes beside a path.
const (
	stateAuto = "auto"
	stateNone = "none"
)

// stateOptions are the flags of the saved state, which the next start uses.
type stateOptions struct {
	dir     string // a path, a word above, or "" for none
	secrets bool
}

func (o *stateOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "state-dir", stateAuto,
		"directory for the last valid configuration, used at a restart while the folder is broken or missing: PATH, none or auto\n"+
			"(systemd's $STATE_DIRECTORY, else a folder of its own for DIR below $XDG_STATE_HOME or ~/.local/state)")
	flags.BoolVar(&o.secrets, "state-secrets", false, "let --state-dir hold Secrets and the users of basicAuth, in clear text")
}

// of returns where the engine saves the state of the folder dir.
func (o *stateOptions) of(dir string) (engine.State, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return engine.State{}, err
	}
	place, named := o.place(root)
	return engine.State{Dir: place, Named: named, Secrets: o.secrets}, nil
}

// off reports whether nothing is saved.
func (o *stateOptions) off() bool { return o.dir == "" || o.dir == stateNone }

// place returns the folder of the state for a served folder, "" for none. named is true if the user
// set it: then it must be usable.
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
