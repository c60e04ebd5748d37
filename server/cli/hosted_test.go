package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/host"
)

// machine is a folder and `gatefold serve --envoy` on it, a process of its own.
type machine struct {
	*served
	run      string // --envoy-run-dir
	binary   string // --envoy-path
	state    string // --state-dir
	gatefold *exec.Cmd
	log      sharedLog
}

// sharedLog is a log that is read while it is written.
type sharedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write is io.Writer's.
func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logs waits until the log has the words.
func (m *machine) logs(words string) {
	m.t.Helper()
	envoytest.Wait(m.t, fmt.Sprintf("the log to say %q", words), func() error {
		if !strings.Contains(m.log.String(), words) {
			return errors.New("it does not")
		}
		return nil
	})
}

// newMachine prepares a folder as newServed does; nothing runs yet. No Envoy of it is
// there after the test.
func newMachine(t testing.TB, routes ...string) *machine {
	t.Helper()
	run, err := os.MkdirTemp("", "gatefold-run-") //nolint:usetesting // the path of a socket is to be short
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{served: newServed(t, routes...), run: run, binary: envoytest.Binary(t), state: t.TempDir()}
	m.admin = "unix:" + filepath.Join(run, "admin")
	t.Cleanup(func() {
		if m.gatefold != nil {
			m.stop(syscall.SIGINT)
		}
		for _, pid := range m.pids() {
			t.Errorf("Envoy %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("the log of gatefold:\n%s", m.log.String())
		}
		_ = os.RemoveAll(run)
	})
	return m
}

// start starts gatefold, in a group of its own as a shell starts a job.
func (m *machine) start(args ...string) {
	m.t.Helper()
	m.gatefold = exec.Command("gatefold", append([]string{
		"serve", m.folder, "--envoy", "--envoy-path", m.binary, "--envoy-run-dir", m.run, "--admin-address", m.admin, "--state-dir", m.state,
	}, args...)...)
	m.gatefold.Stderr, m.gatefold.SysProcAttr = &m.log, &syscall.SysProcAttr{Setpgid: true}
	if err := m.gatefold.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// stop sends a signal to gatefold and all of its group, as a terminal does, and waits
// for its end. Envoys are in no group of gatefold's.
func (m *machine) stop(signal syscall.Signal) {
	m.t.Helper()
	m.kill(-m.gatefold.Process.Pid, signal)
	err := m.gatefold.Wait()
	if signal != syscall.SIGKILL && err != nil {
		m.t.Errorf("gatefold: %v", err)
	}
	m.gatefold = nil
}

// pids finds the processes that run on the machine's folder: its Envoys.
func (m *machine) pids() []int {
	m.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		m.t.Fatal(err)
	}
	var pids []int
	for _, path := range paths {
		line, _ := os.ReadFile(path) // it may be gone
		if bytes.Contains(line, []byte("--config-path\x00"+m.run+"/")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				m.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// pid waits until one Envoy runs, and returns it.
func (m *machine) pid() int {
	m.t.Helper()
	var pids []int
	envoytest.Wait(m.t, "one Envoy", func() error {
		if pids = m.pids(); len(pids) != 1 {
			return fmt.Errorf("there are %d", len(pids))
		}
		return nil
	})
	return pids[0]
}

// status is what `gatefold status` prints.
func (m *machine) status(args ...string) string {
	var out bytes.Buffer
	Main(append([]string{"status", "--admin-address", m.admin}, args...), &out, io.Discard) // exit code 1 is a finding
	return out.String()
}

// shows waits until a line of status has all the words.
func (m *machine) shows(words ...string) {
	m.t.Helper()
	envoytest.Wait(m.t, fmt.Sprintf("status to show %q", words), func() error {
		text := m.status()
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				return nil
			}
		}
		return errors.New(text)
	})
}

func (m *machine) states() []host.State {
	m.t.Helper()
	out := m.status("-o", "json")
	var list struct {
		Supervised []host.State `json:"supervised"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	return list.Supervised
}

func (m *machine) kill(pid int, signal syscall.Signal) {
	m.t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		m.t.Fatal(err)
	}
}

// What a person sees in a terminal: it serves, it follows edits, a dead Envoy comes back,
// and Ctrl-C ends everything.
func TestHostModeRunsAnEnvoy(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one")
	m.start()
	m.waitFor("one", "a")
	m.shows("default/eg", "running")
	m.shows("Gateway", "default/eg", "ok")
	first := m.pid()
	m.write("one.yaml", m.route("one", "b"))
	m.waitFor("one", "b")

	m.kill(first, syscall.SIGKILL)
	envoytest.Wait(t, "another Envoy", func() error {
		if pids := m.pids(); len(pids) != 1 || pids[0] == first {
			return fmt.Errorf("there are %v, was %d", pids, first)
		}
		return nil
	})
	m.waitFor("one", "b")
	m.shows("Gateway", "default/eg", "ok")
	if states := m.states(); len(states) != 1 || states[0].Restarts != 1 || states[0].Phase != host.Running {
		t.Errorf("states: %+v", states)
	}
	m.stop(syscall.SIGTERM)
	if pids := m.pids(); len(pids) > 0 {
		t.Errorf("Envoys after the end: %v", pids)
	}
	if !strings.Contains(m.log.String(), "was ended by signal 9 (killed)") {
		t.Error("the log does not say how Envoy ended")
	}
}

// gatefold is killed, stopped and started again under load: the Envoy stays the same
// process, no request fails, and edits are followed afterwards.
func TestHostModeOutlivesGatefold(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one", "two")
	m.start("--envoy-keep")
	m.waitFor("one", "a")
	m.waitFor("two", "a")
	envoy := m.pid()
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Rate: 500, Targets: []envoytest.Target{m.target("one", "a", "b"), m.target("two", "a")},
	})
	for i, signal := range append(slices.Repeat([]syscall.Signal{syscall.SIGKILL}, 10), syscall.SIGTERM) {
		m.stop(signal)
		backend := []string{"b", "a"}[i%2]
		m.write("one.yaml", m.route("one", backend)) // while nobody looks
		m.start("--envoy-keep")
		m.waitFor("one", backend)
		m.shows("default/eg", "running (adopted)", strconv.Itoa(envoy))
	}
	wantNoFailure(t, load, 500)
	if now := m.pid(); now != envoy {
		t.Errorf("Envoy was %d and is %d", envoy, now)
	}

	// An adopted Envoy that dies is started again, too.
	m.kill(envoy, syscall.SIGKILL)
	m.shows("default/eg", "running", " 1 ")
	m.waitFor("one", "b")

	// Ctrl-C ends what --envoy-keep keeps at a stop.
	m.stop(syscall.SIGINT)
	if pids := m.pids(); len(pids) > 0 {
		t.Errorf("Envoys after Ctrl-C: %v", pids)
	}
}

// A Gateway goes: a request under way is answered, no new one is taken, and nothing of
// its Envoy is left. So it is when nobody watched it go.
func TestHostModeDrainsTheEnvoyOfAGatewayThatGoes(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprintf("watched=%t", watched), func(t *testing.T) {
			m := newMachine(t, "one")
			m.write("other.yaml", strings.ReplaceAll(read(t, filepath.Join(m.folder, "gateway.yaml")), "name: eg", "name: other"))
			m.start("--envoy-keep")
			m.waitFor("one", "a")
			m.shows("default/other", "AddressNotUsable")

			slow, finish := m.slowRequest()
			if !watched {
				m.stop(syscall.SIGKILL)
			}
			if err := os.Remove(filepath.Join(m.folder, "gateway.yaml")); err != nil {
				t.Fatal(err)
			}
			if !watched {
				m.start("--envoy-keep")
			}
			m.shows("default/eg", "draining")
			envoytest.Wait(t, "new connections to be refused, or taken by the Gateway that waited", func() error {
				if response, err := envoytest.Try(m.request("one")); err == nil && response.Status == 200 {
					return errors.New("it is answered")
				}
				return nil
			})
			finish()
			if answer := <-slow; answer.Status != 200 || !answer.Closing {
				t.Errorf("the request under way got %d, closing %t; want 200 and to connect anew", answer.Status, answer.Closing)
			}
			envoytest.Wait(t, "the Envoy to be gone", func() error {
				if pids := m.pids(); len(pids) != 1 {
					return fmt.Errorf("there are %v", pids)
				}
				return nil
			})
			// The port is free, and goes to the other.
			m.shows("Gateway", "default/other", "ok")
			envoytest.Wait(t, "its files to be gone", func() error {
				left, err := filepath.Glob(filepath.Join(m.run, "default.eg.*"))
				if err == nil && len(left) > 0 {
					err = fmt.Errorf("there are %v", left)
				}
				return err
			})
		})
	}
}

// slowRequest sends a request whose answer waits for finish.
func (m *machine) slowRequest() (answer <-chan envoytest.Response, finish func()) {
	m.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	arrived, proceed, done := make(chan struct{}), make(chan struct{}), make(chan envoytest.Response, 1)
	m.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 4096))
		close(arrived)
		<-proceed
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	m.write("slow.yaml", m.route("slow", "slow")+fmt.Sprintf(`---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: slow}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
`, port))
	go func() {
		for {
			response, err := envoytest.Try(m.request("slow"))
			switch {
			case err != nil:
				done <- envoytest.Response{}
				return
			case response.Status != 404: // the route is there
				done <- *response
				return
			}
		}
	}()
	<-arrived
	return done, func() { close(proceed) }
}

// Who has the pid of a run file and is not the Envoy is left in peace.
func TestHostModeKillsNobodyElse(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one")
	m.start("--envoy-keep")
	m.waitFor("one", "a")
	m.stop(syscall.SIGTERM)
	envoy := m.pid()
	m.kill(envoy, syscall.SIGKILL)
	innocent := exec.Command("sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = innocent.Wait(); close(ended) }()
	t.Cleanup(func() { _ = innocent.Process.Kill(); <-ended })

	path := filepath.Join(m.run, "default.eg.run.json")
	var file map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &file); err != nil {
		t.Fatal(err)
	}
	for _, tamper := range []func(){
		func() {}, // the pid was given to another process
		func() { file["start"] = startOf(t, innocent.Process.Pid) }, // and somebody wrote a run file by hand
		func() { file["boot"] = "another" },
		func() { file = map[string]any{"gateway": "default/eg", "pid": 1} },
		func() { file = map[string]any{"gateway": "default/other", "pid": innocent.Process.Pid} },
	} {
		file["pid"] = innocent.Process.Pid
		tamper()
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		m.start()
		m.waitFor("one", "a")
		m.stop(syscall.SIGTERM)
		select {
		case <-ended:
			t.Fatalf("%s ended the process that it names", text)
		default:
		}
	}
}

// startOf is when a process began, as /proc tells it.
func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	text := read(t, fmt.Sprintf("/proc/%d/stat", pid))
	start, err := strconv.ParseUint(strings.Fields(text[strings.LastIndex(text, ")")+1:])[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

// An Envoy that was started in another way than it would be now is replaced by a new epoch, and
// ends itself after the drain time.
func TestHostModeReplacesAnEnvoyOfAnotherBootstrap(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one")
	m.start("--envoy-keep")
	m.waitFor("one", "a")
	envoy := m.pid()
	m.stop(syscall.SIGTERM)
	m.binary = another(t, m.binary)
	m.start("--envoy-keep", "--envoy-drain", "1s")
	m.logs("the former epoch of Envoy has ended")
	if now := m.pid(); now == envoy {
		t.Errorf("Envoy %d stays", now)
	}
	m.waitFor("one", "a")
	m.shows("default/eg", "running, epoch 1")

	// The next epoch follows it, also after a restart of gatefold.
	m.stop(syscall.SIGKILL)
	m.start("--envoy-keep", "--envoy-drain", "1s")
	m.shows("default/eg", "running (adopted), epoch 1")
	m.stop(syscall.SIGKILL)
	m.binary = another(t, m.binary)
	m.start("--envoy-keep", "--envoy-drain", "1s")
	m.shows("default/eg", "running, epoch 2")
	m.waitFor("one", "a")
}

// A port below 1024 without the right to it: the condition says what to do.
func TestHostModeExplainsLowPorts(t *testing.T) {
	m := newMachine(t)
	m.binary = withoutCapability(t, m.binary)
	m.write("gateway.yaml", strings.Replace(read(t, filepath.Join(m.folder, "gateway.yaml")), "port: "+strings.Split(m.address, ":")[1], "port: 81", 1))
	m.start()
	m.shows("Gateway", "default/eg", "Programmed=False", "Permission denied", "AmbientCapabilities=")
}

// withoutCapability is an Envoy that may not bind low ports, as for any user but root.
func withoutCapability(t *testing.T, binary string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return binary
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("root may bind all ports, and there is no setpriv to take that from it")
	}
	wrapper := filepath.Join(t.TempDir(), "envoy")
	text := fmt.Sprintf("#!/bin/sh\nexec setpriv --bounding-set -net_bind_service %s \"$@\"\n", binary)
	if err := os.WriteFile(wrapper, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return wrapper
}

// Ctrl-C says what is waited for. A second one does not wait: the open request is cut off,
// no Envoy is left, and the exit code is 2.
func TestHostModeASecondSignalEndsAtOnce(t *testing.T) {
	m := newMachine(t, "one")
	m.start("--envoy-drain", "1h")
	m.waitFor("one", "a")
	slow, finish := m.slowRequest()
	defer finish()
	m.kill(m.gatefold.Process.Pid, syscall.SIGINT)
	m.logs("stopping: waiting up to 1h0m0s for 1 open request; press Ctrl-C again to stop now")
	ended, stop := context.WithCancel(t.Context())
	process := m.gatefold.Process
	go func() { // those of the first moment are the same as the first
		for ended.Err() == nil {
			_ = process.Signal(syscall.SIGINT)
			time.Sleep(100 * time.Millisecond)
		}
	}()
	exit, err := new(exec.ExitError), m.gatefold.Wait()
	if stop(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("gatefold ended with %v, want exit code %d", err, exitFailed)
	}
	m.gatefold = nil
	if pids := m.pids(); len(pids) > 0 {
		t.Errorf("Envoys after the end: %v", pids)
	}
	if answer := <-slow; answer.Status == 200 {
		t.Error("the request was answered")
	}
	m.logs("gatefold: a second signal stopped gatefold at once; open requests were cut off")
}

// make, timeout and shells pass a signal on that the program has had from the terminal
// already: gatefold waits for open requests all the same.
func TestHostModeADoubledSignalIsOne(t *testing.T) {
	m := newMachine(t, "one")
	m.start("--envoy-drain", "1h")
	m.waitFor("one", "a")
	slow, finish := m.slowRequest()
	m.kill(m.gatefold.Process.Pid, syscall.SIGINT)
	m.kill(m.gatefold.Process.Pid, syscall.SIGTERM) // two equal ones can become one on their way
	m.logs("stopping: waiting up to 1h0m0s for 1 open request")
	finish()
	if answer := <-slow; answer.Status != 200 {
		t.Errorf("the request was answered with %d", answer.Status)
	}
	if err := m.gatefold.Wait(); err != nil {
		t.Errorf("gatefold ended with %v", err)
	}
	m.gatefold = nil
}

// A port that another program has is one line of the log, with the remedy at its place, and
// one row of status. When it is free, the log says so.
func TestHostModeReportsABusyPortOnce(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t)
	occupied, err := net.Listen("tcp", m.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = occupied.Close() })
	port := strings.Split(m.address, ":")[1]
	m.start()
	m.logs("cannot bind " + m.address + ": Address already in use); free it or change listeners[0].port (gateway.yaml:")
	m.shows("Gateway", "default/eg", "Programmed=False", "AddressNotUsable", "1 of 1 listeners cannot be bound: http")
	m.shows("listener http", "PortUnavailable", "port "+port+" is in use by another program", "free it or change spec.listeners[0].port")
	m.exits(exitFindings, "status", "gateway", "eg")
	m.metricIs("gatefold_gateways_not_programmed 1")
	m.metricIs("gatefold_listeners_not_programmed 1")
	// Another try, whose words are for debugging alone, is known by Envoy's own log.
	envoytest.Wait(t, "three tries", func() error {
		log, err := os.ReadFile(filepath.Join(m.run, "default.eg.log"))
		if tries := bytes.Count(log, []byte("failed to bind")); err != nil || tries < 3 {
			return fmt.Errorf("%d tries, %w", tries, err)
		}
		return nil
	})
	if lines := strings.Count(m.log.String(), "cannot bind"); lines != 1 {
		t.Errorf("%d lines of the log are about it, want 1", lines)
	}
	if strings.Contains(m.log.String(), "previous version") {
		t.Error("the log says that Envoy keeps a version that it never had")
	}
	if err := occupied.Close(); err != nil {
		t.Fatal(err)
	}
	m.logs("the listener is bound now, and serves")
	m.logs(`"listens":"` + m.address)
	m.metricIs("gatefold_listeners_not_programmed 0")
	m.exits(exitFine, "status", "gateway", "eg")
}

// exits runs a command that asks the machine's gatefold, and wants the exit code.
func (m *machine) exits(want int, args ...string) {
	m.t.Helper()
	command := exec.Command("gatefold", append(args, "--admin-address", m.admin)...)
	if out, err := command.CombinedOutput(); command.ProcessState.ExitCode() != want {
		m.t.Errorf("gatefold %q: %v, want exit code %d: %s", args, err, want, out)
	}
}

// metricIs waits until /metrics has the line.
func (m *machine) metricIs(line string) {
	m.t.Helper()
	admin := client{address: m.admin, timeout: patience}
	envoytest.Wait(m.t, line, func() error {
		_, body, err := admin.get(m.t.Context(), "/metrics")
		if err == nil && !bytes.Contains(body, []byte("\n"+line+"\n")) {
			err = errors.New("it is not there")
		}
		return err
	})
}
