package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/journal"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/watcher"
)

// restarted is a folder that a gatefold with a state serves, which is ended and
// started anew while its Envoy goes on.
type restarted struct {
	*served
	state string
	stop  func()
	log   sharedLog
}

func newRestarted(t *testing.T, routes ...string) *restarted {
	t.Helper()
	r := &restarted{served: newServed(t, routes...), state: filepath.Join(inMemory(t), "state")}
	host, _, _ := net.SplitHostPort(r.address)
	r.xds = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	r.admin = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("gatefold's log:\n%s", r.log.String())
		}
	})
	return r
}

// inMemory returns a new directory, in memory where the machine has a file system for that: gatefold waits 5 s at its end
// for a disk that does not answer, which a busy one may not do.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "gatefold-test-") //nolint:usetesting // t.TempDir is on the disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// connect starts an Envoy.
func (r *restarted) connect(node string) {
	host, _, _ := net.SplitHostPort(r.address)
	r.envoy = envoytest.Start(r.t, envoytest.Options{
		XDSAddress: r.xds, NodeID: node, NodeCluster: "default/eg",
		AdminAddress: net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(r.t))),
	})
}

// start runs gatefold until stop, or the test, ends.
func (r *restarted) start() {
	o := serveOptions{watch: "auto", log: logOptions{format: "console", level: "info"}, state: stateOptions{dir: r.state}}
	o.folder.tree = watcher.DefaultLimits()
	o.server.XDSAddress, o.server.AdminAddress = r.xds, r.admin
	if r.change != nil {
		r.change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx, r.folder, &r.log) }()
	stopped := false
	r.stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
	}
	r.t.Cleanup(r.stop)
}

// connected waits until the Envoy has all that gatefold serves now.
func (r *restarted) connected() {
	r.t.Helper()
	r.waitMetric("gatefold_xds_streams", 1)
	admin := client{address: r.admin, timeout: patience}
	envoytest.Wait(r.t, "the Gateway to be programmed", func() error {
		_, body, err := admin.get(r.t.Context(), "/api/v1/status/Gateway/default/eg")
		if err == nil && (strings.Contains(string(body), `"reason": "Pending"`) || !strings.Contains(string(body), "Programmed")) {
			err = errors.New(string(body))
		}
		return err
	})
}

// waitMetric waits until a metric has a value.
func (r *restarted) waitMetric(name string, want int) {
	r.t.Helper()
	(&faulty{served: r.served}).waitMetric(name, want)
}

func (r *restarted) must(errs ...error) {
	r.t.Helper()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// TestRestartsUnderLoad restarts gatefold beside what people do to a folder
// meanwhile: nothing that served before fails, and what is sound is followed.
func TestRestartsUnderLoad(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	r := newRestarted(t, "steady", "broken", "edited")
	r.start()
	r.connect("edge-1")
	for _, route := range []string{"steady", "broken", "edited"} {
		r.waitFor(route, "a")
	}
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 300, Targets: []envoytest.Target{
		r.target("steady", "a"), r.target("broken", "a"), r.target("edited", "a", "b"),
	}})
	in := func(name string) string { return filepath.Join(r.folder, name) }
	aside := r.folder + ".aside"
	backends := map[bool]string{true: "a", false: "b"}
	edit := func(i int) {
		r.write("edited.yaml", r.route("edited", backends[i%2 == 0]))
		r.waitFor("edited", backends[i%2 == 0])
	}
	for i, step := range []struct {
		name       string
		down, back func()
		hold       int
	}{
		{"nothing", func() {}, func() {}, 0},
		{"a broken file", func() { r.write("broken.yaml", "kind: [") }, func() {}, 0},
		{"a file that stays broken", func() { r.write("broken.yaml", "kind: [[") }, func() {}, 0},
		{"an invalid object", func() {
			r.write("broken.yaml", strings.Replace(r.route("broken", "b"), "backendRefs", "backendRef", 1))
		}, func() {}, 0},
		{"a broken Gateway", func() { r.write("gateway.yaml", "kind: Gateway\n") }, func() {}, 0},
		{"another definition, first in order", func() { r.write("a.yaml", r.route("steady", "b")) }, func() { r.must(os.Remove(in("a.yaml"))) }, 0},
		{"a missing folder", func() { r.must(os.Rename(r.folder, aside)) }, func() { r.must(os.Rename(aside, r.folder)) }, 1},
		{"an empty folder", func() { r.must(os.Rename(r.folder, aside), os.Mkdir(r.folder, 0o755)) },
			func() { r.must(os.Remove(r.folder), os.Rename(aside, r.folder)) }, 1},
		{"an unreadable folder", func() { r.must(os.Rename(r.folder, aside), os.Symlink(r.folder, r.folder)) },
			func() { r.must(os.Remove(r.folder), os.Rename(aside, r.folder)) }, 1},
		{"a file in its place", func() { r.must(os.Rename(r.folder, aside), os.WriteFile(r.folder, nil, 0o600)) },
			func() { r.must(os.Remove(r.folder), os.Rename(aside, r.folder)) }, 1},
		{"a folder that is copied back file by file", func() { r.must(os.Rename(r.folder, aside), os.Mkdir(r.folder, 0o755)) }, func() {
			f := &faulty{served: r.served}
			f.each(aside, func(name string) { f.copy(filepath.Join(aside, name), in(name)); time.Sleep(200 * time.Millisecond) })
			r.must(os.RemoveAll(aside))
		}, 1},
	} {
		t.Log(step.name)
		r.stop()
		step.down()
		r.start()
		r.connected()
		r.waitMetric("gatefold_frozen", step.hold)
		step.back()
		r.waitMetric("gatefold_frozen", 0)
		edit(i)
	}
	wantNoFailure(t, load, 2_000)
}

// TestAFreshEnvoyGetsTheStateOfAMissingFolder starts everything anew beside a
// folder that is gone, as after a reboot without a mount. It is the proof that the
// test above is about what gatefold serves, not only about what Envoy keeps.
func TestAFreshEnvoyGetsTheStateOfAMissingFolder(t *testing.T) {
	r := newRestarted(t, "steady", "broken")
	r.start()
	r.waitMetric("gatefold_last_reload_successful", 1)
	r.stop()
	r.must(os.Rename(r.folder, r.folder+".aside"))
	r.start()
	r.connect("edge-1")
	r.waitFor("steady", "a")
	r.stop()
	r.must(os.Rename(r.folder+".aside", r.folder))
	r.write("broken.yaml", "kind: [")
	r.start()
	r.envoy.Stop()
	r.connect("edge-2")
	r.waitFor("broken", "a")
}

// TestKilledAtAnyMoment kills the program at random moments of a storm of edits
// that each change two files at once, under load: whatever is found then serves
// both files of one edit, and no request fails.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	r := newRestarted(t, "steady", "left", "right")
	program, err := os.Executable()
	r.must(err)
	run := func() *exec.Cmd {
		cmd := exec.Command(program, "serve", "--state-dir", r.state, "--xds-address", r.xds, "--admin-address", r.admin, "--log-level", "error", r.folder)
		cmd.Args[0] = "gatefold" // see TestMain
		var log strings.Builder
		cmd.Stderr = &log
		r.must(cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			if strings.Contains(log.String(), "cannot be used") {
				t.Error(log.String())
			}
		})
		return cmd
	}
	gatefold := run()
	r.connect("edge-1")
	for _, route := range []string{"steady", "left", "right"} {
		r.waitFor(route, "a")
	}
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 300, Targets: []envoytest.Target{
		r.target("steady", "a"), r.target("left", "a", "b"), r.target("right", "a", "b"),
	}})
	envoytest.Wait(t, "a first state", func() error {
		_, err := os.Stat(filepath.Join(r.state, "journal"))
		return err
	})
	r.write("pair.yaml", r.route("left", "a")+"---\n"+r.route("right", "a"))
	r.must(os.Remove(filepath.Join(r.folder, "left.yaml")), os.Remove(filepath.Join(r.folder, "right.yaml")))
	random := rand.New(rand.NewPCG(testsize.Seed(t), 2))
	for round := range testsize.Of(t, 18) {
		edits := random.IntN(6)
		for i := range edits {
			backend := []string{"a", "b"}[i%2]
			// By rename: a machine that is busy may leave a file empty for longer than the quiet time.
			r.write("pair.yaml", r.route("left", backend)+"---\n"+r.route("right", backend))
			time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond) // the moments are what is random here
		}
		r.must(gatefold.Process.Kill())
		_ = gatefold.Wait() // it was killed
		r.isComplete()
		if round%6 != 5 {
			gatefold = run()
			continue
		}
		r.must(os.Rename(r.folder, r.folder+".aside")) // there is nothing but the state
		gatefold = run()
		r.connected()
		r.waitMetric("gatefold_frozen", 1)
		r.must(os.Rename(r.folder+".aside", r.folder))
		r.waitMetric("gatefold_frozen", 0)
	}
	wantNoFailure(t, load, 2_000)
}

// isComplete wants a state in which all that serves is there, and of the pair both
// routes of one edit.
func (r *restarted) isComplete() {
	r.t.Helper()
	j, content, err := journal.Open(journal.Options{Dir: r.state, Root: r.folder, Fingerprint: schema.Fingerprint})
	r.must(err)
	defer j.Close()
	objects, err := store.New(store.Options{Save: true})
	r.must(err)
	texts := map[string]string{}
	for _, saved := range content.Saved {
		texts[saved.Key.Name] = string(saved.Text)
	}
	swap := strings.NewReplacer("left", "right")
	if bad := objects.Restore(content.Saved, content.Sound); len(bad) > 0 || content.Problem != "" || len(texts) != 6 {
		r.t.Fatalf("%d objects, cannot be used: %v, %q", len(texts), bad, content.Problem)
	}
	trim := func(text string) string { return strings.TrimPrefix(text, "---\n") }
	if left, right := swap.Replace(trim(texts["left"])), trim(texts["right"]); left != right {
		r.t.Fatalf("saved are two edits at once:\n%s\n%s", left, right)
	}
}

// TestTheStateWaitsForTheDisk makes the state's folder unusable while gatefold
// serves: edits go on, a metric and a row of status tell, and it recovers.
func TestTheStateWaitsForTheDisk(t *testing.T) {
	r := newRestarted(t, "edited")
	r.start()
	r.connect("edge-1")
	r.waitFor("edited", "a")
	envoytest.Wait(t, "the first save", func() error {
		_, err := os.Stat(filepath.Join(r.state, "journal"))
		return err
	})
	r.must(os.Rename(r.state, r.state+".aside"), os.WriteFile(r.state, nil, 0o600))
	r.write("edited.yaml", r.route("edited", "b"))
	r.waitFor("edited", "b")
	r.waitMetric("gatefold_state_saved", 0)
	var status strings.Builder
	r.must((&statusPage{statusList: statusList{problemList: r.problems()}}).print(&status))
	if !strings.Contains(status.String(), "What serves cannot be saved for a restart: not a directory") {
		t.Error(status.String())
	}
	r.must(os.Remove(r.state))
	r.waitMetric("gatefold_state_saved", 1)
	if got := r.problems(); got.State != "" {
		t.Errorf("recovered, and yet %q", got.State)
	}
	r.stop()
	r.must(os.RemoveAll(r.folder))
	r.start()
	r.connected()
	r.waitFor("edited", "b")
}

// problems asks for the page.
func (r *restarted) problems() (list problemList) {
	r.t.Helper()
	admin := client{address: r.admin, timeout: patience}
	r.must(admin.getJSON(r.t.Context(), "/api/v1/problems", &list))
	return list
}

// The state's default place is systemd's or one of the user, a folder for each DIR.
func TestPlaceOfTheState(t *testing.T) {
	for _, test := range []struct{ dir, systemd, xdg, home, want, named string }{
		{"", "/s", "/x", "/h", "", "false"},
		{"none", "/s", "/x", "/h", "", "false"},
		{"/d", "/s", "/x", "/h", "/d", "true"},
		{"auto", "/s:/t", "/x", "/h", "/s", "true"},
		{"auto", "", "/x", "/h", "/x/gatefold/ff676e7e72338789", "false"},
		{"auto", "", "relative", "/h", "/h/.local/state/gatefold/ff676e7e72338789", "false"},
		{"auto", "", "", "", "", "false"},
	} {
		for name, value := range map[string]string{"STATE_DIRECTORY": test.systemd, "XDG_STATE_HOME": test.xdg, "HOME": test.home} {
			t.Setenv(name, value)
		}
		o := stateOptions{dir: test.dir}
		if dir, named := o.place("/conf"); dir != test.want || fmt.Sprint(named) != test.named {
			t.Errorf("%+v: %q, %v", test, dir, named)
		}
	}
}
