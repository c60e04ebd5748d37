package composetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// override gives the stand-in for git-sync a repository, and nothing else.
const override = `services:
  git-sync:
    volumes: ["%s:/repository:ro"]
`

// repository is what the stand-in for git-sync takes for one: see gitsync/main.go.
type repository struct {
	t      *testing.T
	folder string
	routes string
}

// push adds a revision: examples/compose with other routes.
func (r *repository) push(hash, routes string) {
	r.t.Helper()
	tree := filepath.Join(r.folder, hash)
	if err := os.CopyFS(tree, os.DirFS("../compose")); err != nil {
		r.t.Fatal(err)
	}
	replace(r.t, filepath.Join(tree, "routes.yaml"), routes)
	replace(r.t, filepath.Join(r.folder, "HEAD"), hash)
}

// startSync starts everything with a repository whose first revision greets with
// "first", and serves a folder of the volume that git-sync writes to.
func (p *project) startSync(t *testing.T, serve, image string) *repository {
	t.Helper()
	r := &repository{t: t, folder: filepath.Join(p.folder, "repository-"+filepath.Base(serve)), routes: p.read(t, "routes.yaml")}
	if err := os.Mkdir(r.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	r.push("1111111", greet(t, r.routes, "first"))
	file := filepath.Join(p.folder, "override.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, override, r.folder), 0o600); err != nil {
		t.Fatal(err)
	}
	before := p.env
	p.files, p.profile = []string{file}, "git"
	p.env = append(before, "GIT_SYNC_REPO=/repository", "GIT_SYNC_PERIOD=100ms", "GATEFOLD_FOLDER="+serve, "GIT_SYNC_IMAGE="+image)
	t.Cleanup(func() {
		p.down()
		p.files, p.profile, p.env = nil, "", before
	})
	p.run("up", "-d")
	p.waitGreeting(t, "first")
	return r
}

// down removes the containers, networks and volumes of the project.
func (p *project) down() {
	command := exec.CommandContext(context.Background(), p.compose[0], p.args("down", "-v")...)
	command.Env = p.env
	if out, err := command.CombinedOutput(); err != nil {
		p.t.Errorf("down: %v: %s", err, out)
	}
}

// standIn gives the image of the stand-in for git-sync. Only an engine of our own may
// have it under the public name, and then docker-compose.yaml needs no word.
func (p *project) standIn(t *testing.T) (image, word string) {
	t.Helper()
	image = gitSyncImage(t)
	if !p.own {
		image = p.name + "-git-sync"
		t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "docker", "rmi", image).Run() })
		word = image
	}
	p.script(`cd "$1/examples/composetest/gitsync"
		CGO_ENABLED=0 go build -trimpath -o "$2/git-sync" .
		printf 'FROM `+busyboxImage+`\nCOPY git-sync /git-sync\nENTRYPOINT ["/git-sync"]\n' >"$2/Dockerfile"
		docker build -q -t "$3" "$2"`, p.folder, t.TempDir(), image)
	return image, word
}

// gitSyncImage is the public name of git-sync, the same wherever it stands.
func gitSyncImage(t *testing.T) string {
	t.Helper()
	var found string
	for _, name := range []string{"../../docker-compose.yaml", "../git-sync/Dockerfile"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		image := regexp.MustCompile(`registry\.k8s\.io/git-sync/git-sync:v[0-9.]+`).FindString(string(text))
		if image == "" || found != "" && image != found {
			t.Fatalf("%s names git-sync %q, docker-compose.yaml %q", name, image, found)
		}
		found = image
	}
	return found
}

// syncs serves git-sync's link: each revision is one change, and the tree before is gone.
func (p *project) syncs(t *testing.T) {
	_, word := p.standIn(t)
	r := p.startSync(t, "/git/sync/current", word)
	for _, greeting := range []string{"second", "third", "fourth"} {
		r.push(greeting+"0", greet(t, r.routes, greeting))
		p.waitGreeting(t, greeting)
	}
	response := envoytest.Do(t, envoytest.Request{Address: p.address})
	if response.Status != 200 {
		t.Errorf("status %d of a route that no revision changed", response.Status)
	}
}

// checks serves what `gatefold validate` has let pass: examples/git-sync.
func (p *project) checks(t *testing.T) {
	image, _ := p.standIn(t)
	checked := p.name + "-checked"
	p.must("docker", "build", "-q", "-t", checked, "--build-arg", "GIT_SYNC="+image, filepath.Join(p.folder, "examples/git-sync"))
	t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "docker", "rmi", checked).Run() })
	r := p.startSync(t, "/git/checked", checked)
	r.push("2222222", greet(t, strings.Replace(r.routes, "weight: 90", "weight: many", 1), "second"))
	envoytest.Wait(t, "the check of a bad revision", func() error {
		if logs := p.run("logs", "git-sync"); !strings.Contains(logs, "hook failed: 2222222") || !strings.Contains(logs, "backendRefs[0].weight") {
			return errors.New(logs)
		}
		return nil
	})
	// All of the bad revision is kept out, the sound document as well.
	if got, err := p.greeting(); err != nil || got != "first" {
		t.Errorf("greeting %q, %v", got, err)
	}
	if out := p.run("exec", "-T", "gatefold", "gatefold", "validate", "/git/checked"); !strings.Contains(out, "0 errors") {
		t.Errorf("served is %s", out)
	}
	r.push("3333333", greet(t, r.routes, "third"))
	p.waitGreeting(t, "third")
}
