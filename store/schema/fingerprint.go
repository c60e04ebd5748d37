package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
)

// Fingerprint names the program that runs: the hash of its file, which holds the
// schemas and all that reads them. An object that passed a Check by one fingerprint
// passes every other one by the same. It is "" where the system does not show the file.
//
// What debug.ReadBuildInfo says is not enough: built outside of a repository, as in a
// container, two versions of gatefold say the same.
func Fingerprint() string {
	program, err := openProgram()
	if err != nil {
		return ""
	}
	defer program.Close()
	h := sha256.New()
	if _, err := io.Copy(h, program); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// openProgram opens the file of the program. On Linux that is the one that runs, even
// where an upgrade has put another one in its place.
func openProgram() (*os.File, error) {
	if runtime.GOOS == "linux" {
		return os.Open("/proc/self/exe")
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}
