package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

const (
	// stopTime is how long an Envoy may take to end by itself.
	stopTime = 5 * time.Second
	// lookTime is the time between two looks at a process that is not a child.
	lookTime = 100 * time.Millisecond
)

// process is one Envoy that runs, or ran.
type process struct {
	pid     int
	run     run // what the run file has of it
	adopted bool
	// handle stands for this one process (pidfd): a signal never reaches another one
	// that got its pid.
	handle *os.Process
	tail   *tail

	once sync.Once
	gone chan struct{}
	how  string // before gone is closed
}

func newProcess(r run) *process {
	return &process{run: r, pid: r.Pid, gone: make(chan struct{}), tail: newTail()}
}

// ended returns a channel that is closed when the process has ended.
func (p *process) ended() <-chan struct{} { return p.gone }

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// kill ends the process at once, and waits for its end.
func (p *process) kill() {
	_ = p.handle.Kill() // an error means that it has ended
	<-p.ended()
}

// over records the end of the process.
func (p *process) over(how string) {
	p.once.Do(func() {
		p.how = how
		close(p.gone)
	})
}

// fate returns how the process ended.
func (p *process) fate() string {
	<-p.gone
	return p.how
}

func howItEnded(state *os.ProcessState, err error) string {
	if state == nil {
		return fmt.Sprintf("ended: %v", err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was ended by signal %d (%s)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", state.ExitCode())
}

// stop ends the process and waits for its end. When hurry is closed, it kills the process.
func (p *process) stop(hurry <-chan struct{}) {
	_ = p.handle.Signal(syscall.SIGTERM) // an error means that it has ended
	select {
	case <-p.ended():
		return
	case <-hurry:
	case <-time.After(stopTime):
	}
	_ = p.handle.Kill()
	<-p.ended()
}

// recognize finds the process of a run file. If there is none, it returns the reason in words: the
// process has ended, or another process has its pid now.
func recognize(r run, f files) (*process, string) {
	if r.Pid == 0 {
		return nil, "no process had been started"
	}
	if r.Boot != bootID() {
		return nil, "this machine was started anew since"
	}
	// First the handle, then the proof: the handle is of whom the proof is about.
	handle, err := os.FindProcess(r.Pid)
	if err != nil {
		return nil, "the process has ended"
	}
	start, err := startTime(r.Pid)
	switch {
	case err != nil:
		return nil, "the process has ended"
	case start != r.Start:
		return nil, "another process has its pid now"
	case !bytes.Contains(commandLine(r.Pid), []byte("\x00"+f.bootstrap+"\x00")):
		return nil, "the process is not the Envoy that gatefold started"
	}
	if other := f.admin().config(); other != "" && other != f.bootstrap {
		return nil, "on its admin socket is an Envoy of " + other
	}
	p := newProcess(r)
	p.adopted, p.handle = true, handle
	return p, ""
}

// follow watches an adopted process until it or ctx ends. The system reports the end of a process
// only to its parent.
func (p *process) follow(ctx context.Context, f files, log zerolog.Logger) {
	path := f.logOf(p.run.Epoch)
	if file, err := os.Open(path); err == nil {
		p.tail.from(file)
		_ = file.Close()
	}
	go p.tail.run(ctx, path, p.ended(), log)
	start, err := startTime(p.pid)
	if err != nil {
		p.over(unknownEnd)
	}
	go func() { // a panic ends the process, as nobody would notice the end of this Envoy
		for {
			now, err := startTime(p.pid)
			if err != nil || now != start {
				p.over(unknownEnd)
				return
			}
			time.Sleep(lookTime)
		}
	}()
}

const unknownEnd = "ended (how is not known, as an earlier gatefold had started it)"

// lastLines returns the last lines of the log of a process that has ended.
func (p *process) lastLines() []string { return p.tail.last() }
