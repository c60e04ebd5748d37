package engine

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// badForward is true of an HTTPRoute with the annotation bad and a backend.
func badForward(object *manifest.Object) bool {
	route, ok := object.Value.(*api.HTTPRoute)
	return ok && route.Annotations["bad"] == "true" && len(route.Spec.Rules[0].BackendRefs) > 0
}

// startMistaken starts it, and returns what kills it.
func (r *served) startMistaken() (kill func()) {
	command := exec.Command("mistaken", r.folder, r.state, r.xds, r.admin)
	var log bytes.Buffer
	command.Stderr = &log
	r.must(command.Start())
	ended := false
	kill = func() {
		if !ended {
			ended = true
			r.must(command.Process.Signal(syscall.SIGKILL))
			_ = command.Wait() // it was killed
			if r.t.Failed() {
				r.t.Log(log.String())
			}
		}
	}
	r.t.Cleanup(kill)
	return kill
}

// While gatefold fails at an edit, the version before it serves, and so does what others edit: in
// one process, and after kill -9 beside the folder, beside a broken file, and with a state that
// holds no Secrets. The edit that repairs it is served.
func TestAnEditAtWhichGatefoldFailsIsNotApplied(t *testing.T) {
	r := newServed(t, "bad", "edited")
	kill := r.startMistaken()
	r.connect()
	r.waitFor("bad", "a")
	r.waitFor("edited", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{r.target("bad", "a"), r.target("edited", "a", "b")}})
	bad := strings.Replace(r.route("bad", "b"), "{name: bad}", `{name: bad, annotations: {bad: "true"}}`, 1)
	withheld := func() {
		t.Helper()
		r.waitPage("/api/v1/problems", "bad to be withheld", func(text string) bool {
			return strings.Contains(text, store.InternalError) && strings.Contains(text, "the version before it is still served")
		})
	}
	r.write("bad.yaml", bad)
	withheld()
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n"
	for i, down := range []func(){
		func() {},
		func() {},
		func() { r.write("bad.yaml", "kind: [") },
		func() { r.write("secret.yaml", secret) }, // from now on the state lacks a Secret
		func() { r.write("secret.yaml", secret+"---\n"+secret) },
	} {
		backend := map[bool]string{true: "b", false: "a"}[i%2 == 0]
		r.write("edited.yaml", r.route("edited", backend))
		r.waitFor("edited", backend)
		r.waitPage("/metrics", "something to be saved", func(text string) bool {
			return strings.Contains(text, "gatefold_state_bytes ") && !strings.Contains(text, "gatefold_state_bytes 0\n")
		})
		kill()
		down()
		kill = r.startMistaken()
		r.connected()
		r.write("bad.yaml", bad+fmt.Sprintf("# %d\n", i))
		withheld()
	}
	if result := load.StopAfter(200); result.Failed > 0 || result.Requests < 200 {
		t.Fatalf("%d of %d requests failed", result.Failed, result.Requests)
	}
	r.write("bad.yaml", r.route("bad", "b"))
	r.waitFor("bad", "b")
	kill()
	r.startMistaken()
	r.connected()
	r.write("edited.yaml", r.route("edited", "b"))
	r.waitFor("edited", "b")
	r.waitFor("bad", "b")
}
