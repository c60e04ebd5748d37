// Package composetest starts docker-compose.yaml as it stands, with the images that the
// Dockerfile makes, and does what its users do.
package composetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// project is a copy of this repository whose docker-compose.yaml runs.
type project struct {
	*engine
	name    string // the project's
	folder  string
	address string // where Envoy answers
	page    string // where the page is
	compose []string
	files   []string // more files than docker-compose.yaml
	profile string
}

// TestCompose is one run: building takes longer than everything else.
func TestCompose(t *testing.T) {
	p := newProject(t, findEngine(t))
	p.run("build")
	p.run("up", "-d")
	p.step("the page, for this machine alone", p.showsPage)
	p.step("an edit of a mounted file", p.edits)
	p.step("a mistake in a mounted file", p.mistakes)
	p.step("gatefold is restarted", p.restarts)
	p.step("status knows what Envoy leaves out", p.tellsHealth)
	p.down()
	p.step("git-sync", p.syncs)
	p.step("git-sync with a check before", p.checks)
}

// step is a test of its own, which fails alone.
func (p *project) step(name string, do func(*testing.T)) {
	whole := p.t
	whole.Run(name, func(t *testing.T) {
		p.t = t
		defer func() { p.t = whole }()
		do(t)
	})
}

func newProject(t *testing.T, e *engine) *project {
	t.Helper()
	folder := t.TempDir()
	copyTree(t, folder, "../..")
	port, page := envoytest.FreePort(t), envoytest.FreePort(t)
	name := fmt.Sprintf("gatefold-test-%d-%d", os.Getpid(), port) // no other project's
	p := &project{engine: e, name: name, folder: folder, address: fmt.Sprintf("127.0.0.1:%d", port), page: fmt.Sprintf("127.0.0.1:%d", page), compose: []string{"docker", "compose"}}
	p.env = append(p.env, fmt.Sprintf("GATEFOLD_PORT=%d", port), fmt.Sprintf("GATEFOLD_PAGE_PORT=%d", page), "GATEFOLD_VERSION=v1.2.3-test")
	if _, err := p.try("docker", "compose", "version"); err != nil {
		p.compose = []string{"docker-compose"}
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := p.try(p.compose[0], p.args("logs", "--tail", "30")...)
			t.Log(logs)
		}
		// The context of the test has ended: another engine has to be told nevertheless.
		p.down()
	})
	return p
}

// copyTree copies a checkout without what git or a build keeps in it.
func copyTree(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case relative == ".git" && !entry.IsDir(): // in a worktree it is a file
			return nil
		case relative == ".git" || relative == ".cache" || relative == "bin":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		case !info.Mode().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), text, info.Mode())
	})
	if err != nil {
		t.Fatal(err)
	}
	// As a user of containers other than this one has to read it.
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (p *project) args(args ...string) []string {
	all := append([]string{}, p.compose[1:]...)
	all = append(all, "-p", p.name, "-f", filepath.Join(p.folder, "docker-compose.yaml"))
	for _, file := range p.files {
		all = append(all, "-f", file)
	}
	if p.profile != "" {
		all = append(all, "--profile", p.profile)
	}
	return append(all, args...)
}

// run runs docker-compose.
func (p *project) run(args ...string) string {
	p.t.Helper()
	return p.must(p.compose[0], p.args(args...)...)
}

func (p *project) write(t *testing.T, name, text string) {
	t.Helper()
	replace(t, filepath.Join(p.folder, "examples/compose", name), text)
}

// replace puts a file in its place by a rename; the user of a container may read it.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path+"~", 0o644), os.Rename(path+"~", path)); err != nil {
		t.Fatal(err)
	}
}

func (p *project) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, "examples/compose", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// greeting is what backend echo-b is greeted with.
func (p *project) greeting() (string, error) {
	response, err := envoytest.Try(envoytest.Request{Address: p.address, Path: "/hello/world"})
	if err != nil {
		return "", err
	}
	answer, err := response.Echoed()
	if err == nil && answer.Backend != "echo-b" {
		err = fmt.Errorf("%s answers", answer.Backend)
	}
	return strings.Join(answer.Headers["X-Greeting"], " "), err
}

func (p *project) waitGreeting(t *testing.T, want string) {
	t.Helper()
	envoytest.Wait(t, "greeting "+want, func() error {
		got, err := p.greeting()
		if err == nil && got != want {
			err = fmt.Errorf("it is %q", got)
		}
		return err
	})
}

// greet gives the routes with another greeting.
func greet(t *testing.T, routes, greeting string) string {
	t.Helper()
	changed := strings.Replace(routes, "value: hello\n", "value: "+greeting+"\n", 1)
	if changed == routes {
		t.Fatal("examples/compose/routes.yaml greets with no hello")
	}
	return changed
}

// showsPage reads the page on the host's loopback. A request by a name, as a web page of a stranger would send it, is
// refused. The version of the build is in the image.
func (p *project) showsPage(t *testing.T) {
	for host, want := range map[string]int{p.page: 200, "localhost": 200, "attacker.example": 403} {
		envoytest.Wait(t, "the page for "+host, func() error {
			response, err := envoytest.Try(envoytest.Request{Address: p.page, Host: host, Path: "/"})
			if err == nil && response.Status != want {
				err = fmt.Errorf("status %d, want %d", response.Status, want)
			}
			return err
		})
	}
	if out := p.run("exec", "-T", "gatefold", "gatefold", "version"); !strings.Contains(out, "v1.2.3-test") {
		t.Error("the version is not in the image:", out)
	}
}

func (p *project) edits(t *testing.T) {
	p.waitGreeting(t, "hello")
	routes := p.read(t, "routes.yaml")
	p.write(t, "routes.yaml", greet(t, routes, "renamed"))
	p.waitGreeting(t, "renamed")
	if err := os.WriteFile(filepath.Join(p.folder, "examples/compose/routes.yaml"), []byte(greet(t, routes, "written")), 0o600); err != nil {
		t.Fatal(err)
	}
	p.waitGreeting(t, "written")
	p.write(t, "routes.yaml", routes)
	p.waitGreeting(t, "hello")
}

// mistakes breaks one document: it serves as it did, status tells, and the object in
// the other document follows its edits.
func (p *project) mistakes(t *testing.T) {
	routes := p.read(t, "routes.yaml")
	p.write(t, "routes.yaml", greet(t, strings.Replace(routes, "weight: 90", "weight: many", 1), "still"))
	p.waitGreeting(t, "still")
	out, err := p.try(p.compose[0], p.args("exec", "-T", "gatefold", "gatefold", "validate", "/etc/gatefold")...)
	if err == nil || !strings.Contains(out, "backendRefs[0].weight") {
		t.Errorf("validate says %v: %s", err, out)
	}
	response := envoytest.Do(t, envoytest.Request{Address: p.address})
	if response.Status != 200 {
		t.Errorf("status %d where the last good version serves", response.Status)
	}
	p.write(t, "routes.yaml", routes)
	p.waitGreeting(t, "hello")
}

// restarts restarts gatefold under load, and puts another container in its place, as an
// upgrade does: nobody notices, and edits are served again.
func (p *project) restarts(t *testing.T) {
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 100, Targets: []envoytest.Target{
		{Name: "split", Request: envoytest.Request{Address: p.address}},
		{Name: "hello", Request: envoytest.Request{Address: p.address, Path: "/hello"}},
	}})
	routes := p.read(t, "routes.yaml")
	p.run("restart", "gatefold")
	p.write(t, "routes.yaml", greet(t, routes, "again"))
	p.waitGreeting(t, "again")
	p.run("up", "-d", "--no-deps", "--force-recreate", "gatefold")
	p.write(t, "routes.yaml", greet(t, routes, "upgraded"))
	p.waitGreeting(t, "upgraded")
	p.write(t, "routes.yaml", routes)
	p.waitGreeting(t, "hello")
	if log := p.run("logs", "gatefold"); !strings.Contains(log, "going on from the saved state") {
		t.Error("no state outlived the container:", log)
	}
	result := load.Stop()
	t.Log(result)
	if result.Failed > 0 || result.Requests == 0 {
		t.Error("requests failed")
	}
}

const healthPolicy = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: BackendConfigPolicy
metadata: {name: checked}
spec:
  targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: echo-b}]
  healthCheck: {tcp: {}, interval: 100ms, timeout: 1s, healthyThreshold: 1, unhealthyThreshold: 1}
`

// tellsHealth asks Envoy for its endpoints over the socket beside gatefold's.
func (p *project) tellsHealth(t *testing.T) {
	p.write(t, "health.yaml", healthPolicy)
	defer func() { _ = os.Remove(filepath.Join(p.folder, "examples/compose/health.yaml")) }()
	status := func() (string, error) {
		return p.try(p.compose[0], p.args("exec", "-T", "gatefold", "gatefold", "status")...)
	}
	envoytest.Wait(t, "a status without complaint", func() error {
		out, err := status()
		if err == nil && !strings.Contains(out, "1 of 2, 1 not checked") {
			err = errors.New(out)
		}
		return err
	})
	p.run("stop", "echo-b")
	envoytest.Wait(t, "echo-b in the status", func() error {
		out, err := status()
		if err == nil || !strings.Contains(out, "Backend default/echo-b") || !strings.Contains(out, "0 of 2, 1 not checked") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	p.run("start", "echo-b")
	envoytest.Wait(t, "a status without complaint", func() error { _, err := status(); return err })
}
