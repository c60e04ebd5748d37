package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// TestATeamHoldsUpItselfAlone: a team has tests that fail, writes a file every 20 ms, and somebody writes tests into
// nobody's folder, before gatefold starts and after. The platform's routes are served, and so are its edits and removals.
// What the team adds is served when it has come to rest and its tests pass.
func TestATeamHoldsUpItselfAlone(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	n := newNeighbours(t, newServed(t, "one", "edited", "gone"))
	n.addBackend("c", "c")
	evil := strings.ReplaceAll(n.backend("b", "b"), "name: b", "name: b, namespace: attacker") + `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: evil, namespace: attacker}
spec:
  parentRefs: [{name: eg, namespace: default}]
  rules:
  - matches: [{path: {value: /evil}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]
`
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(n.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fails := fmt.Sprintf("GET http://%s/one -> 503\n", n.address)
	put("attacker/requests", fails)
	put("attacker/evil.yaml", evil)
	put("nobody/requests", fails)
	n.change = func(o *serveOptions) { o.folder.guard.clusterPaths, o.gated = []string{"*.yaml"}, true }
	n.serve(n.host)
	n.waitFor("one", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{n.target("one", "a"), n.target("edited", "a", "c")}})
	if response, err := envoytest.Try(n.request("evil")); err != nil || response.Status != 404 {
		t.Errorf("a route of a team whose tests fail: %+v, %v", response, err)
	}
	n.told("TestsFailed", "attacker/requests")
	n.told("TestsIgnored", "nobody/requests")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = os.WriteFile(filepath.Join(n.folder, "attacker", "noise.yaml"), fmt.Appendf(nil, "# %d\n", i), 0o600)
			}
		}
	}()
	n.write("edited.yaml", n.route("edited", "c"))
	n.waitFor("edited", "c")
	if err := os.Remove(filepath.Join(n.folder, "gone.yaml")); err != nil {
		t.Fatal(err)
	}
	envoytest.Wait(t, "the removed route to go", func() error {
		response, err := envoytest.Try(n.request("gone"))
		if err == nil && response.Status != 404 {
			err = fmt.Errorf("status %d", response.Status)
		}
		return err
	})
	put("attacker/requests", fmt.Sprintf("GET http://%s/evil -> b\n", n.address))
	close(stop)
	<-stopped
	n.waitFor("evil", "b")
	wantNoFailure(t, load, 100)
}
