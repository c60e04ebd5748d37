package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// sharedFolder is where the shared memory of POSIX is.
	sharedFolder = "/dev/shm"
	// Base ids that are drawn: above those that people choose by hand, and below those of which
	// Envoy's tenfold overflows.
	smallestBase, largestBase = 1_000_000, 200_000_000
	// draws bounds how many base ids are tried.
	draws = 10
	// sockets begins the names of the sockets by which the epochs of an Envoy talk. The folder
	// keeps other users from them; Envoy's default is an abstract socket, which anyone may write to.
	sockets = "hot"
	// askVersionTime bounds the question for a version.
	askVersionTime = 10 * time.Second
)

// knownLayout is the hot restart version whose block this package knows: size, version, two
// locks and, at flagsAt, the flags. blockSize is in bytes.
const (
	knownLayout = "11.104"
	blockSize   = 104
	flagsAt     = 96
)

// block is the shared memory of the epochs of one Envoy.
type block struct {
	// version is that of hot restart, as `envoy --hot-restart-version` prints it.
	version string
	// initializing is true while an epoch starts, and after one that ended before it was ready: every
	// later one ends at its start then.
	initializing bool
}

// blockPath returns the file of a base id's shared memory.
func blockPath(base int) string {
	return filepath.Join(sharedFolder, fmt.Sprintf("envoy_shared_memory_%d0", base))
}

// reserve chooses a base id that no Envoy of this machine has. It creates the shared memory of that
// id, so that no other gatefold chooses it; the first epoch of an Envoy replaces it. The error is
// why memory cannot be shared: where it is full, Envoy would end by a bus error.
func reserve() (int, error) {
	for range draws {
		base := smallestBase + rand.IntN(largestBase-smallestBase) //nolint:gosec // no secret: others are kept away by the folder
		file, err := os.OpenFile(blockPath(base), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, err = file.Write(make([]byte, blockSize))
		if err = errors.Join(err, file.Close()); err != nil {
			return 0, errors.Join(err, os.Remove(blockPath(base)))
		}
		return base, nil
	}
	return 0, fmt.Errorf("%d base ids are in use", draws)
}

// release removes the shared memory and the sockets of an Envoy that ended.
func release(folder string, base int) {
	if base == 0 {
		return
	}
	_ = os.Remove(blockPath(base))
	left, _ := filepath.Glob(filepath.Join(folder, fmt.Sprintf("%s_*_%d[0-9]", sockets, base))) // the pattern is well-formed
	for _, path := range left {
		_ = os.Remove(path) // what is left is replaced by the next Envoy of the base id
	}
}

// readBlock reads the shared memory of a base id.
func readBlock(base int) (block, error) {
	text, err := os.ReadFile(blockPath(base))
	if err != nil {
		return block{}, err
	}
	if len(text) < 16 {
		return block{}, fmt.Errorf("%s has %d bytes", blockPath(base), len(text))
	}
	order := binary.NativeEndian
	b := block{version: fmt.Sprintf("%d.%d", order.Uint64(text[8:]), order.Uint64(text))}
	if b.version == knownLayout && len(text) >= blockSize {
		b.initializing = order.Uint64(text[flagsAt:])&1 != 0
	}
	return b, nil
}

// unblock resets the flag that an epoch is starting, if an epoch that ended left it set. The error
// means that the flag cannot be read or reset.
func unblock(base int) error {
	b, err := readBlock(base)
	switch {
	case err != nil:
		return err
	case b.version != knownLayout:
		return fmt.Errorf("its layout %s is not known", b.version)
	case !b.initializing:
		return nil
	}
	file, err := os.OpenFile(blockPath(base), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(make([]byte, blockSize-flagsAt), flagsAt)
	return errors.Join(err, file.Close())
}

// hotRestartVersion returns the hot restart version of the binary. Only Envoys of one version can
// take over from each other.
func (b Binary) hotRestartVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askVersionTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, b.Path, "--hot-restart-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --hot-restart-version: %w", b.Path, err)
	}
	version := strings.TrimSpace(string(text))
	if !regexp.MustCompile(`^\d+\.\d+$`).MatchString(version) {
		return "", fmt.Errorf("%s --hot-restart-version prints %q", b.Path, firstLine(text))
	}
	return version, nil
}
