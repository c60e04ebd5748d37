package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// linkFan makes nine directories of which each has six links to the next one: ten million paths.
func linkFan(t *testing.T, dir string) {
	t.Helper()
	for i := range 9 {
		level := filepath.Join(dir, fmt.Sprintf("z%02d", i))
		if err := os.MkdirAll(level, 0o755); err != nil {
			t.Fatal(err)
		}
		for l := range 6 {
			if err := os.Symlink(fmt.Sprintf("../z%02d", i+1), filepath.Join(level, fmt.Sprint("l", l))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A team's links lead to ten million paths, beside another team: no request of that one
// fails, and its edits, new directories and removals are followed; the problem is at a link.
func TestLinkFansHoldUpNobody(t *testing.T) {
	s := newServed(t, "steady", "edited", "removed")
	s.stderr = new(sharedLog)
	s.change = func(o *serveOptions) { o.log.level = "info" }
	host, _, _ := net.SplitHostPort(s.address)
	s.serve(host)
	s.waitFor("removed", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{s.target("steady", "a"), s.target("edited", "a", "b")}})
	linkFan(t, filepath.Join(s.folder, "a-team"))
	wantFollowed(s)
	if err := os.Remove(filepath.Join(s.folder, "removed.yaml")); err != nil {
		t.Fatal(err)
	}
	envoytest.Wait(t, "/removed to be gone", func() error {
		response, err := envoytest.Try(s.request("removed"))
		if err == nil && response.Status != 404 {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
	admin := client{address: s.admin, timeout: patience}
	envoytest.Wait(t, "the problem of a-team", func() error {
		_, body, err := admin.get(t.Context(), "/api/v1/problems")
		if err == nil && !strings.Contains(string(body), `"code": "ReadElsewhere"`) {
			err = fmt.Errorf("there is %.300s", body)
		}
		if err == nil && !strings.Contains(string(body), `"file": "a-team/z`) {
			err = fmt.Errorf("it names another file: %.300s", body)
		}
		return err
	})
	wantNoFailure(t, load, 200)
}

// wantFollowed edits a route, and has a new directory bring another one.
func wantFollowed(s *served) {
	s.t.Helper()
	s.write("edited.yaml", s.route("edited", "b"))
	s.waitFor("edited", "b")
	if err := os.MkdirAll(filepath.Join(s.folder, "b-team"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.folder, "b-team", "new.yaml"), []byte(s.route("new", "a")), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.waitFor("new", "a")
}

// A writer pauses in the middle of valid YAML: nobody is served half of the file, another
// team's edits are followed meanwhile, and all of the file once it is closed.
func TestHalfAFileIsNotServed(t *testing.T) {
	s := startServed(t, "steady", "edited")
	pair := func(backend string) string { return s.route("head", backend) + "---\n" + s.route("tail", "a") }
	s.write("pair.yaml", pair("a"))
	s.waitFor("tail", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{
		s.target("steady", "a"), s.target("edited", "a", "b"), s.target("head", "a", "b"), s.target("tail", "a"),
	}})
	file, err := os.OpenFile(filepath.Join(s.folder, "pair.yaml"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := pair("b")
	half := strings.Index(text, "---")
	write := func(part string) {
		t.Helper()
		if _, err := file.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	write(text[:half])
	for i := range 6 { // each takes longer than the rest that a folder must have
		backend := []string{"b", "a"}[i%2]
		s.write("edited.yaml", s.route("edited", backend))
		s.waitFor("edited", backend)
	}
	write(text[half:])
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s.waitFor("head", "b")
	wantNoFailure(t, load, 200)
}

// Connections that nobody uses take more descriptors than there are: edits are followed, the
// admin pages answer, and the Envoy that is connected stays.
func TestIdleConnectionsLeaveDescriptors(t *testing.T) {
	s := newServed(t, "steady", "edited")
	host, _, _ := net.SplitHostPort(s.address)
	s.xds = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	s.admin = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	log := new(sharedLog)
	gatefold := exec.Command("sh", "-c", `ulimit -n 80; exec "$@"`, "sh",
		"gatefold", "serve", s.folder, "--xds-address", s.xds, "--admin-address", s.admin, "--state-dir", t.TempDir())
	gatefold.Stderr = log
	if err := gatefold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(gatefold.Process.Signal(syscall.SIGTERM), gatefold.Wait()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	s.envoy = envoytest.Start(t, envoytest.Options{
		XDSAddress: s.xds, NodeID: "edge-1", NodeCluster: "default/eg",
		AdminAddress: net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t))),
	})
	s.waitFor("edited", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{s.target("steady", "a")}})
	for i := range 300 {
		conn, err := net.Dial("tcp", []string{s.xds, s.admin}[i%2])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	wantFollowed(s)
	admin := client{address: s.admin, timeout: patience}
	if _, body, err := admin.get(t.Context(), "/readyz"); err != nil {
		t.Errorf("the admin page: %v %s", err, body)
	}
	if text := log.String(); strings.Contains(text, "too many open files") {
		t.Error("it ran out of descriptors")
	}
	wantNoFailure(t, load, 100)
}
