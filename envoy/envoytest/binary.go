// Package envoytest runs a real Envoy in tests, with echo backends behind it and
// constant load before it. There is no stand-in for Envoy here: what these tests
// claim, an Envoy did.
package envoytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Binary returns the path of the Envoy binary that envoy/get-envoy prints. If there is none,
// the test is skipped with a line on stderr; with CI=true it fails.
func Binary(t testing.TB) string { return BinaryOf(t, "") }

// BinaryOf is Binary for one of the versions that get-envoy knows, such as "1.38.3"; "" is the one that
// the tests are run with.
func BinaryOf(t testing.TB, version string) string {
	t.Helper()
	path, err := locate(version)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no Envoy to test with: %v", err)
	}
	fmt.Fprintf(os.Stderr, "\n*** %s SKIPPED, no Envoy to test with: %v\n\n", t.Name(), err)
	t.Skipf("no Envoy to test with: %v", err)
	return ""
}

// locate runs get-envoy once per test binary for the tests' own version.
func locate(version string) (string, error) {
	if version == "" {
		return locateOwn()
	}
	return getEnvoy(version)
}

var locateOwn = sync.OnceValues(func() (string, error) { return getEnvoy("") })

func getEnvoy(version string) (string, error) {
	script, err := findScript()
	if err != nil {
		return "", err
	}
	var stderr strings.Builder
	command := exec.Command(script)
	if version != "" {
		command.Env = append(os.Environ(), "GATEFOLD_ENVOY=", "GATEFOLD_ENVOY_VERSION="+version)
	}
	command.Stderr = &stderr
	path, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(path)), nil
}

// findScript looks for envoy/get-envoy from the folder of the test upwards, so
// that modules inside this repository find it as well.
func findScript() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		script := filepath.Join(folder, "envoy", "get-envoy")
		if info, err := os.Stat(script); err == nil && info.Mode().IsRegular() {
			return script, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("envoy/get-envoy is not in %s nor above it", start)
		}
	}
}
