package host

import (
	"context"
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
	// sharedFolder is the folder of POSIX shared memory.
	sharedFolder = "/dev/shm"
	// smallestBase and largestBase are the range of the random base ids. People choose smaller ids by hand.
	// Envoy multiplies the id by ten, which overflows with larger ids.
	smallestBase, largestBase = 1_000_000, 200_000_000
	// draws is how many random base ids are tried.
	draws = 10
	// sockets is the prefix of the names of the sockets between the epochs of an Envoy. These sockets are in
	// Options.Folder, where other users have no access. Envoy's default is an abstract socket, to which any user
	// may write.
	sockets = "hot"
	// askVersionTime limits how long `envoy --hot-restart-version` may run.
	askVersionTime = 10 * time.Second
)

// reservedSize is the size in bytes of the file that keeps a base id reserved. Envoy's own file is smaller: where the
// reserved one fits, Envoy's fits, too.
const reservedSize = 4096

// stillInitializing is what a new epoch says at its end if an epoch before it ended before it was ready: Envoy keeps in
// the shared memory that an epoch starts, and no other one can start until that one is ready.
const stillInitializing = "previous envoy process is still initializing"

// blockPath returns the path of the shared memory file of a base id.
func blockPath(base int) string {
	return filepath.Join(sharedFolder, fmt.Sprintf("envoy_shared_memory_%d0", base))
}

// reserve chooses a random base id that no Envoy of this machine uses. It creates the shared memory file of
// that id, so that no other gatefold chooses the same id; Envoy replaces the file. reserve returns an error if all
// ids that it tried (draws) are in use, or if the file cannot be written: for example, because the shared memory is
// full. With full shared memory, Envoy would end with a bus error.
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
		_, err = file.Write(make([]byte, reservedSize))
		if err = errors.Join(err, file.Close()); err != nil {
			return 0, errors.Join(err, os.Remove(blockPath(base)))
		}
		return base, nil
	}
	return 0, fmt.Errorf("%d base ids are in use", draws)
}

// release removes the shared memory and the sockets of an Envoy that has ended. It does nothing if base is 0.
func release(folder string, base int) {
	if base == 0 {
		return
	}
	_ = os.Remove(blockPath(base))
	left, _ := filepath.Glob(filepath.Join(folder, fmt.Sprintf("%s_*_%d[0-9]", sockets, base))) // the pattern is well-formed
	for _, path := range left {
		_ = os.Remove(path) // the next Envoy with this base id replaces the rest
	}
}

// hotRestartVersion returns the hot restart version of the binary. An Envoy can replace another only if both
// have the same hot restart version. The error means that the binary cannot be run, that it does not end before ctx
// ends or askVersionTime has passed, or that it prints no version.
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
