package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
)

// Fingerprint returns a hash of the program's file. That file contains the schemas and the code that validates.
// So an object that passed Check passes it again under the same fingerprint. It returns "" if the file cannot
// be read. The result of debug.ReadBuildInfo would not be enough: it is the same for two versions that are
// built outside of a repository, for example in a container.
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

// openProgram opens the file of the running program. On Linux, it opens the running program even if an upgrade
// has replaced the file on disk. It returns an error if the file cannot be opened.
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
