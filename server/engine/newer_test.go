package engine

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/tenancy"
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

// TestANewerTreeIsServedWhileALargeFileIsRead has a newer Tree arrive while a large file of one team is read: the small
// file of another is published, and the large one with the newer Tree. Without path policies, the run gives way as a whole.
func TestANewerTreeIsServedWhileALargeFileIsRead(t *testing.T) {
	for _, fenced := range []bool{true, false} {
		p, r, log := newTestPipeline(t)
		files := map[string]string{"gateway.yaml": openGateway, "b.yaml": teamRoute("b", "first")}
		var newest *watcher.Tree
		options := store.Options{Progress: func(done, _ int) {
			if newest != nil && done > 100 { // the small file comes first
				p.yields.arriving(*newest)
			}
		}}
		if fenced {
			options.ClusterPaths = tenancy.Globs{"gateway.yaml"}
			files["gateway.yaml"] += "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {gatefold.io/paths: a.yaml}}}\n" +
				"---\n{apiVersion: v1, kind: Namespace, metadata: {name: b, annotations: {gatefold.io/paths: b.yaml}}}\n"
		}
		folder, err := store.New(options)
		if err != nil {
			t.Fatal(err)
		}
		p.reader.store = folder
		p.reload(teamsTree(files))
		files["a.yaml"] = largeFile()
		files["b.yaml"] += teamRoute("b", "second")
		late := teamsTree(files)
		files["c.yaml"] = "# news"
		newer := teamsTree(files)
		newest = &newer
		p.reload(late)
		newest = nil
		if !fenced {
			if len(r.published) != 1 {
				t.Error("a state is published that a newer one waits for")
			}
			continue
		}
		if len(r.published) != 2 || brings(r.published[1], "b") != 1 || brings(r.published[1], "a") != 0 || !strings.Contains(log.String(), "a.yaml") {
			t.Fatalf("%d Results are published; want the small file, and the name of the large one in the log: %s", len(r.published)-1, log)
		}
		if p.reload(newer); len(r.published) != 3 || brings(r.published[2], "a") != 300 {
			t.Errorf("%d Results are published; want the small file, then the large one", len(r.published)-1)
		}
	}
}

// However often newer Trees arrive, each run goes on with what is read, and the fourth reads everything.
func TestNewerTreesDoNotStarveALargeFile(t *testing.T) {
	p, r, log := newTestPipeline(t)
	files := map[string]string{"gateway.yaml": openGateway}
	arrive, edits := false, 0
	folder, err := store.New(store.Options{Progress: func(int, int) {
		if arrive {
			edits++
			p.yields.arriving(teamsTree(map[string]string{"c.yaml": fmt.Sprint("# ", edits)}))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.reader.store = folder
	p.reload(teamsTree(files))
	files["a.yaml"], arrive = largeFile(), true
	for i := range maxYields + 1 {
		if len(r.published) != 1 {
			t.Fatalf("run %d published: no newer Tree interrupts it", i)
		}
		p.reload(teamsTree(files))
	}
	if len(r.published) != 2 || brings(r.published[1], "a") != 300 {
		t.Errorf("%d Results are published after %d runs: %s", len(r.published), maxYields+1, log)
	}
}
