package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Supported is the range of Envoy versions that gatefold supports, as text for messages.
const Supported = "1.37 to 1.40"

// Supports reports whether a version such as "1.40.0" is in the range that Supported names.
func Supports(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d.", &major, &minor)
	return n == 2 && major == 1 && minor >= 37 && minor <= 40
}

// Binary is an Envoy executable on this machine.
type Binary struct {
	Path    string // absolute
	Version string // "1.40.0"
	build   string // all that --version prints
}

// versionLine finds the version number in the output of `envoy --version`.
var versionLine = regexp.MustCompile(`version: [0-9a-f]+/(\d+\.\d+\.\d+\S*?)/`)

// NewBinary finds the executable of Envoy, and runs it with --version to learn its version. The parameter path is
// the path of the executable, or a name to look up in $PATH; "" means the name envoy. NewBinary returns an error if
// there is no executable, if the executable is not Envoy or cannot be run, or if it does not answer before ctx ends
// or 10 s have passed. NewBinary does not check whether gatefold supports the version: the caller must call Supports.
func NewBinary(ctx context.Context, path string) (Binary, error) {
	name := path
	if name == "" {
		name = "envoy"
	}
	found, err := exec.LookPath(name)
	if err != nil && path == "" {
		return Binary{}, errors.New("--envoy needs Envoy, " + Supported + ", and there is none: run gatefold envoy install, or name one by --envoy-path")
	}
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return Binary{}, fmt.Errorf("--envoy-path: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, found, "--version").Output()
	if err != nil {
		return Binary{}, fmt.Errorf("%s --version: %w", found, err)
	}
	version := versionLine.FindSubmatch(text)
	if version == nil {
		return Binary{}, fmt.Errorf("%s is no Envoy: --version prints %q", found, firstLine(text))
	}
	return Binary{Path: found, Version: string(version[1]), build: strings.TrimSpace(string(text))}, nil
}

// firstLine returns the first non-blank line of text, without its leading space. It returns at most 100 bytes.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(line[:min(len(line), 100)])
}
