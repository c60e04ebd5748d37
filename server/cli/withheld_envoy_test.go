package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// mistaken FOLDER STATE XDS ADMIN is a gatefold whose translator panics at HTTPRoutes with the
// annotation bad and a backend.
func mistaken() {
	o := serveOptions{watch: "auto", log: logOptions{format: "json", level: "error"}, state: stateOptions{dir: os.Args[2]}}
	o.folder.tree = watcher.DefaultLimits()
	o.server.XDSAddress, o.server.AdminAddress = os.Args[3], os.Args[4]
	o.folder.translators = func(options translate.Options) translator {
		return &mistakenTranslator{translator: translate.New(options), fails: func(object *manifest.Object) error {
			route, ok := object.Value.(*api.HTTPRoute)
			if ok && route.Annotations["bad"] == "true" && len(route.Spec.Rules[0].BackendRefs) > 0 {
				panic("a mistake")
			}
			return nil
		}}
	}
	if err := o.run(context.Background(), os.Args[1], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// startMistaken starts it, and returns what kills it.
func (r *restarted) startMistaken() (kill func()) {
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

// While an object is withheld, its last valid version serves, and so does what others edit: in
// one process, and after kill -9 beside the folder, beside a broken file, and with a state that
// holds no Secrets. The edit that repairs it is served.
func TestAWithheldRouteServesItsLastValidVersion(t *testing.T) {
	r := newRestarted(t, "bad", "edited")
	kill := r.startMistaken()
	r.connect("edge-1")
	r.waitFor("bad", "a")
	r.waitFor("edited", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{r.target("bad", "a"), r.target("edited", "a", "b")}})
	bad := strings.Replace(r.route("bad", "b"), "{name: bad}", `{name: bad, annotations: {bad: "true"}}`, 1)
	withheld := func() {
		t.Helper()
		envoytest.Wait(t, "bad to be withheld", func() error {
			_, page, err := (&client{address: r.admin, timeout: patience}).get(t.Context(), "/api/v1/problems")
			if err == nil && !(strings.Contains(string(page), store.InternalError) && strings.Contains(string(page), "last valid version is still served")) {
				err = errors.New(string(page))
			}
			return err
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
		kill()
		down()
		kill = r.startMistaken()
		r.connected()
		r.write("bad.yaml", bad+fmt.Sprintf("# %d\n", i))
		withheld()
	}
	wantNoFailure(t, load, 200)
	r.write("bad.yaml", r.route("bad", "b"))
	r.waitFor("bad", "b")
	kill()
	r.startMistaken()
	r.connected()
	r.write("edited.yaml", r.route("edited", "b"))
	r.waitFor("edited", "b")
	r.waitFor("bad", "b")
}
