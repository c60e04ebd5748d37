// Package envoytest runs a real Envoy in tests, with echo backends and constant load. It never replaces Envoy
// by a fake. So the tests prove what a real Envoy does.
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

// Binary returns the path of the Envoy binary that the script envoy/get-envoy prints. If there is no binary,
// the test is skipped with a line on stderr; with the environment variable CI=true it fails.
func Binary(t testing.TB) string { return BinaryOf(t, "") }

// BinaryOf does the same as Binary for a version that get-envoy knows, such as "1.38.3". The version "" means
// the version that the tests use by default.
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

// locate returns the path of the Envoy of a version. For the version "", it runs get-envoy only once per
// process. The error means that there is no such Envoy.
func locate(version string) (string, error) {
	if version == "" {
		return locateOwn()
	}
	return getEnvoy(version)
}

// locateOwn returns the result of getEnvoy for the default version. It runs getEnvoy only once.
var locateOwn = sync.OnceValues(func() (string, error) { return getEnvoy("") })

// getEnvoy runs the script get-envoy for a version and returns the path that the script prints. The error means that
// there is no script, or that the script failed: then the error contains the script's output to stderr.
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

// findScript returns the path of envoy/get-envoy. It searches the working folder and each folder above, so that
// tests of every module in this repository find the script. It returns an error if the script does not exist.
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
