package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// process is a program under measurement, which ends with the test.
type process struct {
	t       testing.TB
	command *exec.Cmd
	stderr  bytes.Buffer
	ended   bool
}

// launch starts a program. It dies with this one, whatever happens.
func launch(t testing.TB, command *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, command: command}
	command.Stderr = &p.stderr
	command.SysProcAttr = dieWithParent()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// stop ends the program and waits for its end. A second call does nothing.
func (p *process) stop() {
	if p.ended {
		return
	}
	p.ended = true
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.command.Wait()                          // how does not matter any more
	if p.t.Failed() {
		log := p.stderr.String()
		p.t.Logf("the end of what %s said:\n%s", filepath.Base(p.command.Path), log[max(0, len(log)-2000):])
	}
}

// cpu is the time that all threads of the process have been on a core.
func (p *process) cpu() time.Duration { return cpuOf(p.t, p.command.Process.Pid, "") }

// cpuOf sums over the threads of that name, over all where it is empty.
func cpuOf(t testing.TB, pid int, thread string) time.Duration {
	t.Helper()
	ran, _ := scheduled(t, pid, thread)
	return ran
}

// scheduled sums over the threads of that name, over all where it is empty, how long they
// have been on a core, and how long they have waited for one.
func scheduled(t testing.TB, pid int, thread string) (ran, waited time.Duration) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("process %d has no threads: %v", pid, err)
	}
	for _, task := range tasks {
		if thread != "" {
			if name, _ := os.ReadFile(task + "/comm"); strings.TrimSpace(string(name)) != thread {
				continue
			}
		}
		text, err := os.ReadFile(task + "/schedstat")
		if err != nil {
			continue // the thread has ended
		}
		var on, off int64
		if _, err := fmt.Sscan(string(text), &on, &off); err != nil {
			t.Fatal(err)
		}
		ran, waited = ran+time.Duration(on), waited+time.Duration(off)
	}
	return ran, waited
}

// rest waits until the process has nothing to do but what it does from time to time. One
// that waits for a core is not at rest, and one that waits for its disk is not for long.
func (p *process) rest() {
	p.t.Helper()
	const look, idle, looks = 100 * time.Millisecond, 3 * time.Millisecond, 3
	calm, pid := 0, p.command.Process.Pid
	for range 3000 {
		ran, waited := scheduled(p.t, pid, "")
		time.Sleep(look)
		ranSince, waitedSince := scheduled(p.t, pid, "")
		calm++
		if ranSince-ran >= idle || waitedSince-waited >= 10*idle {
			calm = 0
		}
		if calm == looks {
			return
		}
	}
	p.t.Fatal("the process does not come to rest")
}

// gatefold is the program itself, serving a folder.
type gatefold struct {
	*process
	folder, staging string
	xds, admin      string
	began           time.Time
}

// serve starts gatefold on a folder. It returns before anything is loaded.
func serve(t testing.TB, folder string, flags ...string) *gatefold {
	t.Helper()
	host := envoytest.LoopbackAddress()
	g := &gatefold{
		folder: folder, staging: t.TempDir(),
		xds:   fmt.Sprintf("%s:%d", host, envoytest.FreePort(t)),
		admin: fmt.Sprintf("%s:%d", host, envoytest.FreePort(t)),
	}
	arguments := append([]string{"serve", "--xds-address", g.xds, "--admin-address", g.admin, "--log-level", "warn", "--pprof"}, flags...)
	command := exec.Command(build(t), append(arguments, folder)...)
	g.began = time.Now()
	g.process = launch(t, command)
	return g
}

// edit replaces a file by rename, and returns the moment before it.
func (g *gatefold) edit(name string, text []byte) time.Time {
	g.t.Helper()
	return replace(g.t, g.staging, g.folder, name, text)
}

// replace writes a file elsewhere and renames it into the folder.
func replace(t testing.TB, staging, folder, name string, text []byte) time.Time {
	t.Helper()
	put(t, filepath.Join(staging, name), text)
	now := time.Now()
	if err := os.Rename(filepath.Join(staging, name), filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
	return now
}

// page reads an admin page.
func (g *gatefold) page(path string) string {
	g.t.Helper()
	response, err := http.Get("http://" + g.admin + path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		g.t.Fatalf("%s: %s %v", path, response.Status, err)
	}
	return string(body)
}

// liveHeap is what the heap holds after a collection, in bytes.
func (g *gatefold) liveHeap() float64 {
	g.t.Helper()
	for range 2 { // the second frees what finalizers let go
		g.page("/debug/pprof/heap?gc=1")
	}
	for line := range strings.Lines(g.page("/metrics")) {
		if value, ok := strings.CutPrefix(line, "go_memstats_heap_alloc_bytes "); ok {
			bytes, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				g.t.Fatal(err)
			}
			return bytes
		}
	}
	g.t.Fatal("no figure of the heap")
	return 0
}
