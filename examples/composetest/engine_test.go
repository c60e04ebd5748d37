package composetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// The images that stand-ins are made for where an engine of our own runs: it may have
// no registry to ask, and nobody else meets them.
const (
	goImage      = "golang:1.26"
	busyboxImage = "busybox:1.37"
	envoyImage   = "envoyproxy/envoy:v1.40.2"
)

// engine is a Docker engine and the way to it.
type engine struct {
	t *testing.T
	// own is true if the test started it: it has no images, and no network of its own.
	own bool
	env []string
}

// findEngine gives the engine of this machine, or starts one where root may, and makes
// stand-ins for the public images in it: golang from this Go and its downloaded
// modules, envoy from the binary of envoy/get-envoy. Nobody expects `go test` to start an
// engine or to fill one with images: without GATEFOLD_COMPOSE=1 the test is skipped. Where
// no engine can be had it is skipped, too, and with CI=true it fails.
func findEngine(t *testing.T) *engine {
	t.Helper()
	if os.Getenv("GATEFOLD_COMPOSE") == "" {
		t.Skip("docker-compose.yaml is not started: `make compose` does it")
	}
	e := &engine{t: t, env: os.Environ()}
	if _, err := e.try("docker", "version"); err == nil {
		return e
	}
	if err := e.start(); err != nil {
		if os.Getenv("CI") != "true" {
			t.Skipf("SKIPPED, no Docker engine to test docker-compose.yaml with: %v", err)
		}
		t.Fatalf("no Docker engine to test docker-compose.yaml with: %v", err)
	}
	e.importBusybox()
	e.importGo()
	e.buildEnvoy(envoytest.Binary(t))
	return e
}

// try runs a command against the engine and gives all that it prints.
func (e *engine) try(name string, args ...string) (string, error) {
	command := exec.CommandContext(e.t.Context(), name, args...)
	command.Env = e.env
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (e *engine) must(name string, args ...string) string {
	e.t.Helper()
	out, err := e.try(name, args...)
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// script runs a script of sh with arguments $1, $2 …
func (e *engine) script(text string, args ...string) {
	e.t.Helper()
	e.must("sh", append([]string{"-euc", text, "sh"}, args...)...)
}

// importBusybox makes an image of a shell and what one needs beside it.
func (e *engine) importBusybox() {
	e.t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		e.t.Fatal("stand-ins for public images need busybox (Debian: busybox-static): ", err)
	}
	e.script(`mkdir -m 1777 -p "$1/bin" "$1/tmp"
		cp -L "$2" "$1/bin/busybox"
		for name in sh ls mkdir cp mv rm ln cat env chmod; do ln -s busybox "$1/bin/$name"; done
		tar -C "$1" -c . | docker import -c 'ENV PATH=/usr/local/bin:/bin' - "$3" >/dev/null`,
		e.t.TempDir(), busybox, busyboxImage)
}

// importGo makes golang of this Go, and of the modules that it has downloaded: the
// build of the Dockerfile then finds all of them without a network.
func (e *engine) importGo() {
	e.t.Helper()
	e.must("go", "mod", "download")
	at := strings.Fields(e.must("go", "env", "GOROOT", "GOMODCACHE"))
	e.script(`mkdir -p "$1/modules" "$1/build"
		cp -a "$2" "$1/go"
		cp -a "$3/cache/download/." "$1/modules"
		cat >"$1/Dockerfile" <<-END
			FROM `+busyboxImage+`
			COPY go /usr/local/go
			COPY modules /modules
			ENV PATH=/usr/local/go/bin:/usr/local/bin:/bin HOME=/root GOTOOLCHAIN=local GOPROXY=file:///modules GOSUMDB=off
		END
		docker build -q -t `+goImage+` "$1" >/dev/null`, e.t.TempDir(), at[0], at[1])
}

// buildEnvoy makes an image of an Envoy binary and the libraries that it loads.
func (e *engine) buildEnvoy(binary string) {
	e.t.Helper()
	e.script(`mkdir -p "$1/root/usr/local/bin" "$1/root/etc"
		mkdir -m 1777 "$1/root/tmp"
		cp "$2" "$1/root/usr/local/bin/envoy"
		for library in $(ldd "$2" | grep -o '/[^ ]*'); do
			mkdir -p "$1/root$(dirname "$library")"
			cp -L "$library" "$1/root$library"
		done
		printf 'FROM scratch\nCOPY root/ /\nENTRYPOINT ["/usr/local/bin/envoy"]\n' >"$1/Dockerfile"
		docker build -q -t `+envoyImage+` "$1" >/dev/null`, e.t.TempDir(), binary)
}
