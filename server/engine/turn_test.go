package engine

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// teamsTree makes a Tree of files.
func teamsTree(files map[string]string) watcher.Tree {
	out := tree("")
	out.Files = watcher.Files{}
	for path, text := range files {
		out.Files = out.Files.With([]watcher.File{{Path: path, Content: []byte(text), Hash: sha256.Sum256([]byte(text))}}, nil)
	}
	return out
}

// teamRoute is a route of a team's namespace for a host.
func teamRoute(team, host string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s, namespace: %s}, spec: {hostnames: [%s.%s.test], parentRefs: [{name: eg, namespace: default}]}}\n---\n", host, team, host, team)
}

// openGateway takes routes of all namespaces.
var openGateway = strings.Replace(oneGateway, "port: 8080", "port: 8080, allowedRoutes: {namespaces: {from: All}}", 1)

// largeFile has 300 routes of team a.
func largeFile() string {
	var b strings.Builder
	for i := range 300 {
		b.WriteString(teamRoute("a", fmt.Sprint("h", i)))
	}
	return b.String()
}

// brings returns how many objects of a namespace have a new status by a Result.
func brings(result translate.Result, namespace string) (n int) {
	for _, s := range result.Status {
		if s.Key.Namespace == namespace {
			n++
		}
	}
	return n
}

// TestALargeFileIsServedAfterTheOthers saves a large file of one team together with a small one
// of another: the small one is published first, and the large one without a further edit.
func TestALargeFileIsServedAfterTheOthers(t *testing.T) {
	p, r, log := newTestPipeline(t)
	p.yields.reading = 1
	files := map[string]string{"gateway.yaml": openGateway, "b.yaml": teamRoute("b", "first")}
	p.reload(teamsTree(files))
	files["a.yaml"] = largeFile()
	files["b.yaml"] += teamRoute("b", "second")
	p.reload(teamsTree(files))
	if len(r.published) != 3 {
		t.Fatalf("%d Results are published, not 3: %s", len(r.published), log)
	}
	if small := r.published[1]; brings(small, "b") != 1 || brings(small, "a") != 0 {
		t.Errorf("first came %d objects of the small file and %d of the large one", brings(small, "b"), brings(small, "a"))
	}
	if brings(r.published[2], "a") != 300 {
		t.Errorf("then came %d objects of the large file, not 300", brings(r.published[2], "a"))
	}
	if !strings.Contains(log.String(), "a.yaml") {
		t.Errorf("the log does not name the large file: %s", log)
	}
}

// TestANewerTreeIsServedWhileALargeFileIsRead has a newer Tree arrive while nothing but a large
// file is read: the run gives way, and the newer Tree is published without the large file.
func TestANewerTreeIsServedWhileALargeFileIsRead(t *testing.T) {
	p, r, _ := newTestPipeline(t)
	p.yields.reading = 1
	files := map[string]string{"gateway.yaml": openGateway, "b.yaml": teamRoute("b", "first")}
	var newest *watcher.Tree
	folder, err := store.New(store.Options{Progress: func(int, int) {
		if newest != nil {
			p.yields.arriving(*newest)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.reader.store = folder
	p.reload(teamsTree(files))
	files["a.yaml"] = largeFile()
	late := teamsTree(files)
	files["b.yaml"] += teamRoute("b", "second")
	newer := teamsTree(files)
	newest = &newer
	p.reload(late)
	if len(r.published) != 1 {
		t.Fatal("a state is published that a newer one waits for")
	}
	newest = nil
	p.reload(newer)
	if len(r.published) != 3 || brings(r.published[1], "b") != 1 || brings(r.published[1], "a") != 0 || brings(r.published[2], "a") != 300 {
		t.Errorf("%d Results are published; want the small file, then the large one", len(r.published)-1)
	}
}
