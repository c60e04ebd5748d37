package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/host"
)

// forever is longer than any test: what waits for it does not end by itself.
const forever = "1h"

// stream is one response that does not end.
type stream struct {
	received atomic.Int64
	broken   atomic.Pointer[error]
}

// streams opens n responses that go on until the test ends, on a connection each.
func (m *machine) streams(n int) []*stream {
	m.t.Helper()
	ended := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			_, err := w.Write([]byte("."))
			if flushed := http.NewResponseController(w).Flush(); err != nil || flushed != nil {
				return
			}
			select {
			case <-ended:
				return
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}))
	m.t.Cleanup(func() { close(ended); backend.Close() })
	m.write("stream.yaml", m.route("stream", "stream")+fmt.Sprintf(`---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: stream}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %s}]}}
`, backend.URL[strings.LastIndex(backend.URL, ":")+1:]))
	var all []*stream
	for range n {
		all = append(all, m.stream())
	}
	return all
}

// stream opens one, waiting for its route.
func (m *machine) stream() *stream {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://"+m.address+m.request("stream").Path, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var response *http.Response
	envoytest.Wait(m.t, "a stream", func() error {
		r, err := client.Do(request)
		if err == nil && r.StatusCode != http.StatusOK {
			err = errors.Join(errors.New(r.Status), r.Body.Close())
		}
		response = r
		return err
	})
	s := &stream{}
	go func() {
		defer response.Body.Close()
		for buffer := make([]byte, 100); ; {
			n, err := response.Body.Read(buffer)
			if s.received.Add(int64(n)); err != nil {
				s.broken.Store(&err)
				return
			}
		}
	}()
	return s
}

// wantFlowing waits until each stream has received more, and wants none broken.
func wantFlowing(t *testing.T, all []*stream) {
	t.Helper()
	for i, s := range all {
		before := s.received.Load()
		envoytest.Wait(t, fmt.Sprintf("stream %d to go on", i), func() error {
			if broken := s.broken.Load(); broken != nil {
				t.Fatalf("stream %d is broken: %v", i, *broken)
			}
			if s.received.Load() == before {
				return errors.New("nothing came")
			}
			return nil
		})
	}
}

// only is the state of the only Envoy.
func (m *machine) only() host.State {
	m.t.Helper()
	states := m.states()
	if len(states) != 1 {
		m.t.Fatalf("states: %+v", states)
	}
	return states[0]
}

// another returns an Envoy that is another one for gatefold: a link to the binary.
func another(t testing.TB, binary string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "envoy")
	if err := os.Symlink(binary, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// wrapped returns a program that runs the lines, and then the binary.
func wrapped(t testing.TB, binary, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "envoy")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\nexec "+binary+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// blocks are the names of the shared memory of this machine's Envoys.
func (m *machine) blocks() []string {
	m.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(m.run, "hot_parent_*"))
	if err != nil {
		m.t.Fatal(err)
	}
	var blocks []string
	for _, socket := range sockets {
		id := strings.TrimPrefix(filepath.Base(socket), "hot_parent_")
		block := "/dev/shm/envoy_shared_memory_" + id[:len(id)-1] + "0"
		if _, err := os.Stat(block); err == nil {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// Envoy is upgraded under load, with streams open: no connection is refused, no request fails and no stream
// is broken before the drain time. Whatever becomes of gatefold and of the new epoch meanwhile, too.
func TestHostModeUpgradesEnvoyWithoutAGap(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	for _, before := range []string{"", "1.39.3"} {
		t.Run("from "+before, func(t *testing.T) {
			m := newMachine(t, "one", "two")
			if before != "" {
				m.binary = envoytest.BinaryOf(t, before)
			}
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.waitFor("one", "a")
			m.waitFor("two", "a")
			old, streams := m.pid(), m.streams(20)
			load := envoytest.StartLoad(t, envoytest.LoadOptions{
				Rate: 300, Targets: []envoytest.Target{m.target("one", "a", "b"), m.target("two", "a")},
			})
			m.stop(syscall.SIGTERM)
			m.binary = another(t, envoytest.Binary(t))
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.shows("default/eg", "running, epoch 1", "the former epoch, pid "+strconv.Itoa(old))
			wantFlowing(t, streams)
			m.write("one.yaml", m.route("one", "b"))
			m.waitFor("one", "b")
			m.shows("Gateway", "default/eg", "ok")

			m.stop(syscall.SIGKILL)
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.shows("default/eg", "running (adopted), epoch 1", "the former epoch, pid "+strconv.Itoa(old))
			wantFlowing(t, streams)
			wantNoFailure(t, load, 300)

			// What has taken over ends: it is started again, and the former one goes on.
			m.kill(m.only().Pid, syscall.SIGKILL)
			m.shows("default/eg", "running, epoch 1", "the former epoch, pid "+strconv.Itoa(old))
			m.waitFor("one", "b")
			wantFlowing(t, streams)
			m.stop(syscall.SIGKILL)
			m.kill(m.newest(), syscall.SIGKILL) // while nobody looks
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.logs("the successor of an Envoy took over, and has ended")
			m.waitFor("one", "b")
			wantFlowing(t, streams)

			m.stop(syscall.SIGKILL)
			m.start("--envoy-keep", "--envoy-drain", "1s") // from now on, streams may end
			m.shows("default/eg", "running (adopted), epoch 1")
			blocks := m.blocks()
			m.stop(syscall.SIGINT)
			if pids := m.pids(); len(pids) > 0 {
				t.Errorf("Envoys after Ctrl-C: %v", pids)
			}
			if len(blocks) == 0 || len(m.blocks()) > 0 {
				t.Errorf("shared memory was %v, and is %v", blocks, m.blocks())
			}
		})
	}
}

// destroy ends all processes at once: the drain of streams would take its time.
func (m *machine) destroy() {
	m.t.Helper()
	blocks := m.blocks()
	m.stop(syscall.SIGKILL)
	for _, pid := range m.pids() {
		m.kill(pid, syscall.SIGKILL)
	}
	envoytest.Wait(m.t, "the Envoys to be gone", func() error {
		if pids := m.pids(); len(pids) > 0 {
			return fmt.Errorf("there are %v", pids)
		}
		return nil
	})
	for _, block := range blocks {
		_ = os.Remove(block) // two epochs have the same
	}
}

// newest is the process of the run file.
func (m *machine) newest() int {
	m.t.Helper()
	pid, _ := m.runFile()["pid"].(float64)
	return int(pid)
}

func (m *machine) runFile() map[string]any {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.run, "default.eg.run.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	file := map[string]any{}
	if err := json.Unmarshal(text, &file); err != nil {
		m.t.Fatal(err)
	}
	return file
}

// A new Envoy that does not start, or never serves, leaves the old one serving; status says why.
// With a good one, the next gatefold upgrades it without a gap. After an Envoy that ended while it started, Envoy lets no
// other one start beside the old one: that one is ended first.
func TestHostModeKeepsAnEnvoyThatCannotBeReplaced(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	epoch := `case "$*" in *"--restart-epoch 1"*) %s;; esac`
	for name, bad := range map[string]struct {
		lines string
		gap   bool
	}{
		"it does not accept its bootstrap": {`case "$*" in *validate*) echo it is broken >&2; exit 3;; esac`, false},
		"it ends at its start":             {fmt.Sprintf(epoch, "echo it is broken >&2; exit 3"), false},
		// It has taken the admin interface of the old one by then.
		"it never serves": {fmt.Sprintf(epoch, `echo it is broken >&2; f="$2.nowhere.yaml"; sed 's|/xds.sock|/nowhere.sock|' "$2" >"$f"; shift 2; set -- --config-path "$f" "$@"`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "one")
			good := m.binary
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.waitFor("one", "a")
			old, streams := m.pid(), m.streams(5)
			load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 25, Targets: []envoytest.Target{m.target("one", "a", "b")}})

			m.stop(syscall.SIGTERM)
			m.binary = wrapped(t, good, bad.lines)
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.shows("default/eg", "running (adopted)", strconv.Itoa(old), "is not replaced", "Fix what is wrong and restart gatefold")
			m.metricIs("gatefold_host_envoys_outdated 1")
			m.exits(exitFindings, "status")
			if now := m.pid(); now != old {
				t.Errorf("Envoy was %d and is %d", old, now)
			}
			m.write("one.yaml", m.route("one", "b"))
			m.waitFor("one", "b")

			m.stop(syscall.SIGKILL)
			m.binary = another(t, good)
			if bad.gap {
				wantFlowing(t, streams)
				wantNoFailure(t, load, 100)
			}
			m.start("--envoy-keep", "--envoy-drain", forever)
			if bad.gap {
				m.logs("Envoy starts no other beside this one")
				m.write("one.yaml", m.route("one", "a"))
				m.waitFor("one", "a")
				if now := m.pid(); now == old {
					t.Errorf("Envoy %d is not replaced", old)
				}
			} else {
				m.shows("default/eg", "running, epoch 1", "the former epoch, pid "+strconv.Itoa(old))
				wantFlowing(t, streams)
				wantNoFailure(t, load, 100)
			}
			m.metricIs("gatefold_host_envoys_outdated 0")
			m.destroy()
		})
	}
}

// adopted starts an Envoy, and then a gatefold that adopts it and is to replace it by another binary: the same
// Envoy with lines of a shell script before it.
func adopted(t *testing.T, lines string) (m *machine, old int) {
	t.Helper()
	m = newMachine(t, "one")
	good := m.binary
	m.start("--envoy-keep")
	m.waitFor("one", "a")
	old = m.pid()
	m.stop(syscall.SIGTERM)
	m.binary = wrapped(t, good, lines)
	m.start("--envoy-keep")
	return m, old
}

// crash ends an Envoy, and waits until another one serves what is edited then.
func (m *machine) crash(pid int) {
	m.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	m.logs("it is started again")
	m.write("one.yaml", m.route("one", "b"))
	m.waitFor("one", "b")
}

// An Envoy that ends while its successor starts is an Envoy that crashed: another one is started at once.
func TestHostModeStartsAnEnvoyWhenTheOldOneEndsInAnUpgrade(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m, old := adopted(t, `case "$*" in *"--restart-epoch 1"*) exec sleep 1000;; esac`)
	m.logs("a new epoch is started beside the one that serves")
	m.crash(old)
	m.shows("default/eg", "running")
	m.destroy()
}

// An Envoy that was not replaced, and ends, is started in the new way: it is not outdated any more.
func TestHostModeAnEnvoyIsNotOutdatedAfterItsEnd(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m, old := adopted(t, `case "$*" in *validate*) exit 3;; esac`)
	m.shows("default/eg", "running (adopted)", strconv.Itoa(old), "is not replaced")
	m.crash(old)
	m.metricIs("gatefold_host_envoys_outdated 0")
	m.destroy()
}

// gatefold is killed while the new epoch starts: the next gatefold waits for it, or starts it
// again when it has ended; another next one starts another. The old one serves meanwhile.
func TestHostModeResumesAnUpgrade(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	for _, name := range []string{"it waits", "it ended", "another Envoy is wanted", "it was not started yet"} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, "one")
			good, gate := m.binary, filepath.Join(t.TempDir(), "open")
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.waitFor("one", "a")
			old, streams := m.pid(), m.streams(5)
			load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 300, Targets: []envoytest.Target{m.target("one", "a")}})
			m.stop(syscall.SIGTERM)
			m.binary = wrapped(t, good, `case "$*" in *"--restart-epoch 1"*) while [ ! -e `+gate+` ]; do sleep 0.05; done;; esac`)
			m.start("--envoy-keep", "--envoy-drain", forever)
			m.logs("a new epoch is started beside the one that serves")
			m.stop(syscall.SIGKILL)
			next := m.newest()
			switch name {
			case "it ended", "it was not started yet":
				m.kill(next, syscall.SIGKILL)
			case "another Envoy is wanted":
				m.binary = another(t, good)
			}
			if name == "it was not started yet" {
				m.tamper(func(file map[string]any) { file["pid"], file["start"] = 0, 0 })
			}
			m.start("--envoy-keep", "--envoy-drain", forever)
			if name == "it waits" {
				m.logs(fmt.Sprintf(`"pid":%d,"epoch":1,"time"`, next))
			}
			if name == "another Envoy is wanted" {
				m.logs("a new epoch that an earlier gatefold started in another way is ended")
			}
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			m.shows("default/eg", "running", "epoch 1", "the former epoch, pid "+strconv.Itoa(old))
			if now := m.only(); (now.Pid == next) != (name == "it waits") {
				t.Errorf("Envoy %d serves, %d was started before", now.Pid, next)
			}
			if pids := m.pids(); len(pids) != 2 {
				t.Errorf("Envoys: %v", pids)
			}
			wantFlowing(t, streams)
			wantNoFailure(t, load, 300)
			m.destroy()
		})
	}
}

// tamper changes the run file.
func (m *machine) tamper(change func(file map[string]any)) {
	m.t.Helper()
	file := m.runFile()
	change(file)
	text, err := json.Marshal(file)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.run, "default.eg.run.json"), text, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// Where hot restart is not possible, the log says so and why: the old Envoy ends before the new one starts.
func TestHostModeReplacesAnEnvoyThatCannotHotRestart(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	for name, test := range map[string]struct {
		lines   string
		destroy func(m *machine)
		because string
	}{
		"other version":  {lines: `case "$*" in *--hot-restart-version*) echo 12.104; exit;; esac`, because: "its hot restart version is 11.104, and that of the new Envoy is 12.104"},
		"memory is gone": {destroy: func(m *machine) { m.removeBlocks() }, because: "the memory that it shares with its successor is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, "one")
			m.start("--envoy-keep")
			m.waitFor("one", "a")
			old := m.pid()
			m.stop(syscall.SIGTERM)
			if test.destroy != nil {
				test.destroy(m)
			}
			m.binary = wrapped(t, m.binary, test.lines)
			m.start("--envoy-keep")
			m.logs(test.because)
			m.logs("meanwhile connections are refused")
			envoytest.Wait(t, "another Envoy", func() error {
				if pids := m.pids(); len(pids) != 1 || pids[0] == old {
					return fmt.Errorf("there are %v, and the old one is %d", pids, old)
				}
				return nil
			})
			m.waitFor("one", "a")
			if state := m.only(); state.Epoch != 0 {
				t.Errorf("state %+v", state)
			}
		})
	}
}

func (m *machine) removeBlocks() {
	m.t.Helper()
	for _, block := range m.blocks() {
		if err := os.Remove(block); err != nil {
			m.t.Fatal(err)
		}
	}
}
