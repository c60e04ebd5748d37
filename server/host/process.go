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
	// stopTime is how long an Envoy has to end after SIGTERM.
	stopTime = 5 * time.Second
	// lookTime is the time between two checks of a process that is not a child of gatefold.
	lookTime = 100 * time.Millisecond
)

// process is one Envoy process, running or ended.
type process struct {
	pid     int
	run     run  // the content of its run file
	adopted bool // an earlier gatefold started the process (see recognize)
	// handle refers to exactly this process (pidfd). A signal never reaches another process that later got the
	// same pid.
	handle *os.Process
	tail   *tail // copies its log to gatefold's log

	once sync.Once
	gone chan struct{}
	how  string // how the process ended; set before gone is closed
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

// kill kills the process with SIGKILL, and waits until it has ended.
func (p *process) kill() {
	_ = p.handle.Kill() // the error means that it has ended
	<-p.ended()
}

// over records that the process has ended, and closes the channel p.gone. The parameter how is a text for messages
// that says how the process ended. Only the first call has an effect.
func (p *process) over(how string) {
	p.once.Do(func() {
		p.how = how
		close(p.gone)
	})
}

// exitText waits until the process has ended, and returns how it ended, as text for a message.
func (p *process) exitText() string {
	<-p.gone
	return p.how
}

// howItEnded returns a text for a message about the end of a child process. err is the error of Wait; it is
// used if state is nil.
func howItEnded(state *os.ProcessState, err error) string {
	if state == nil {
		return fmt.Sprintf("ended: %v", err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was ended by signal %d (%s)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", state.ExitCode())
}

// stop sends SIGTERM and waits until the process has ended. It kills the process after stopTime, or when the
// channel hurry is closed.
func (p *process) stop(hurry <-chan struct{}) {
	_ = p.handle.Signal(syscall.SIGTERM) // the error means that it has ended
	select {
	case <-p.ended():
		return
	case <-hurry:
	case <-time.After(stopTime):
	}
	_ = p.handle.Kill()
	<-p.ended()
}

// recognize returns the running Envoy that the content of a run file (r) identifies. If there is no such
// process, it returns nil and the reason as text: for example, the process has ended, or another process has its
// pid now.
func recognize(r run, f files) (*process, string) {
	if r.Pid == 0 {
		return nil, "no process had been started"
	}
	if r.Boot != bootID() {
		return nil, "this machine was started anew since"
	}
	// Open the handle before the checks, so that the checks are about the process of the handle.
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

// follow starts two goroutines for a process that an earlier gatefold started. The first goroutine copies new lines
// of the process's log, until the process or ctx ends. The second checks every lookTime whether the process still
// runs, because the system reports the end of a process only to its parent. These checks continue after ctx ends.
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
	go func() { // a panic ends gatefold: it could no longer notice the end of this Envoy
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

// unknownEnd is the text for the end of a process that is not a child of this gatefold.
const unknownEnd = "ended (how is not known, as an earlier gatefold had started it)"

// lastLines returns the last lines of the log of a process, at most keptLines. It waits until gatefold no longer
// copies the log (see tail.run).
func (p *process) lastLines() []string { return p.tail.last() }
