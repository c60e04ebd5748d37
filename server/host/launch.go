package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/wholefile"
)

// launch has everything that determines how one Envoy is started.
type launch struct {
	gateway   string
	binary    string
	args      []string
	drain     time.Duration
	self      []string // see Options.Self
	bootstrap []byte
	err       error // why there is no bootstrap
	// mark is a sum of it all: an Envoy with another mark is to be replaced.
	mark string
}

// noHotRestart has Envoy share no memory with another epoch.
const noHotRestart = "--disable-hot-restart"

func newLaunch(o Options, gateway string, f files) launch {
	l := launch{gateway: gateway, binary: o.Binary.Path, drain: o.DrainTime, self: o.Self, args: []string{
		"--config-path", f.bootstrap,
		noHotRestart, // see arguments
		"--log-level", "warning", "--log-format", "%l %n: %v", "--log-format-escaped",
		// While it drains, every answer asks the client to connect anew.
		"--drain-strategy", "immediate",
	}}
	l.bootstrap, l.err = envoy.Bootstrap(envoy.Options{
		XDSAddress: o.XDSAddress, AdminAddress: "unix:" + f.socket, NodeID: o.NodeID, NodeCluster: gateway,
	})
	l.mark = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", o.Binary.build, l.binary, l.args, l.bootstrap)))
	return l
}

// record returns the run file of an Envoy to start. Its epoch is the one after former's, or the
// first if former is nil. A base of 0 means no base id.
func (l launch) record(base int, former *process) run {
	r := run{Gateway: l.gateway, Boot: bootID(), Mark: l.mark, Since: time.Now(), Base: base}
	if former != nil {
		parent := former.run
		parent.Parent = nil
		r.Epoch, r.Parent = parent.Epoch+1, &parent
	}
	return r
}

// arguments returns the arguments of Envoy. Arguments only for hot restart are not in the mark,
// because a change of them is no reason to replace an Envoy.
func (l launch) arguments(r run, f files) []string {
	if r.Base == 0 {
		return l.args
	}
	args := slices.DeleteFunc(slices.Clone(l.args), func(arg string) bool { return arg == noHotRestart })
	return append(args,
		"--base-id", strconv.Itoa(r.Base), "--restart-epoch", strconv.Itoa(r.Epoch),
		"--socket-path", filepath.Join(filepath.Dir(f.socket), sockets),
		// The time of the epoch before this one, from when this one serves. --drain-time-s stays as it
		// is: it is for listeners that an edit replaces.
		"--parent-shutdown-time-s", strconv.Itoa(int(math.Ceil(l.drain.Seconds()))),
	)
}

// command returns the command that runs Envoy.
func (l launch) command(r run, f files) *exec.Cmd {
	args := l.arguments(r, f)
	if r.Base == 0 {
		return exec.Command(l.binary, args...)
	}
	return selfCommand(l.self, append([]string{l.binary}, args...)...)
}

// start starts the process that r describes, and writes the run file. If the run file cannot be
// written, it ends the process, because it could not be adopted later.
func (l launch) start(ctx context.Context, f files, r run, log zerolog.Logger) (*process, error) {
	if l.err != nil {
		return nil, l.err
	}
	if r.Epoch == 0 {
		_ = os.Remove(f.socket) // the one of an Envoy that has ended
	}
	if err := wholefile.Replace(f.bootstrap, l.bootstrap, 0o600); err != nil {
		return nil, err
	}
	stderr, err := os.OpenFile(f.logOf(r.Epoch), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	command := l.command(r, f)
	command.Dir, command.Env = "/", environment()
	// The access log goes where gatefold's output goes, be it a terminal, a file or the
	// journal, and goes on there without gatefold.
	command.Stdout, command.Stderr = os.Stdout, stderr
	command.SysProcAttr = ownSession()
	if err := r.write(f.run); err != nil { // before the start: if gatefold is killed now, the next one finds it
		return nil, err
	}
	p := newProcess(r)
	p.tail.from(stderr)
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.pid, p.handle = command.Process.Pid, command.Process
	if p.run, err = r.of(p.pid, f); err != nil {
		err = errors.Join(err, command.Process.Kill())
		_ = command.Wait() // it was killed
		return nil, err
	}
	go func() { // a panic ends the process, as nobody would notice the end of this Envoy
		err := command.Wait()
		p.over(howItEnded(command.ProcessState, err))
	}()
	go p.tail.run(ctx, f.logOf(r.Epoch), p.ended(), log)
	return p, nil
}

// environment returns gatefold's own environment, without the variables that systemd sets for
// gatefold.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "NOTIFY_SOCKET" || strings.HasPrefix(name, "WATCHDOG_") || strings.HasPrefix(name, "LISTEN_")
	})
}
