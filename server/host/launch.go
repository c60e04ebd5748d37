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

// launch contains everything that determines how one Envoy is started.
type launch struct {
	gateway   string
	binary    string
	args      []string
	drain     time.Duration
	self      []string // see Options.Self
	bootstrap []byte
	err       error // why there is no bootstrap, or nil
	// mark is a hash of Envoy's version, path, arguments and bootstrap. A running Envoy with another mark is
	// replaced.
	mark string
}

// noHotRestart is the option by which Envoy shares no memory with other Envoys.
const noHotRestart = "--disable-hot-restart"

// newLaunch returns the launch for the Envoy of a Gateway: everything that determines how that Envoy is started.
// f has the paths of the Gateway's files.
func newLaunch(o Options, gateway string, f files) launch {
	l := launch{gateway: gateway, binary: o.Binary.Path, drain: o.DrainTime, self: o.Self, args: []string{
		"--config-path", f.bootstrap,
		noHotRestart, // the method arguments removes it for hot restart
		"--log-level", "warning", "--log-format", "%l %n: %v", "--log-format-escaped",
		// While Envoy drains, every response makes the client connect again.
		"--drain-strategy", "immediate",
	}}
	l.bootstrap, l.err = envoy.Bootstrap(envoy.Options{
		XDSAddress: o.XDSAddress, AdminAddress: "unix:" + f.socket, NodeID: o.NodeID, NodeCluster: gateway,
	})
	l.mark = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", o.Binary.build, l.binary, l.args, l.bootstrap)))
	return l
}

// record returns the content of the run file for an Envoy that is about to start. The parameter former is the Envoy
// that the new one replaces, or nil. The restart epoch of the new Envoy is one higher than that of former, or 0 if
// former is nil. The parameter base is Envoy's base id; 0 means that Envoy runs without hot restart.
func (l launch) record(base int, former *process) run {
	r := run{Gateway: l.gateway, Boot: bootID(), Mark: l.mark, Since: time.Now(), Base: base}
	if former != nil {
		parent := former.run
		parent.Parent = nil
		r.Epoch, r.Parent = parent.Epoch+1, &parent
	}
	return r
}

// arguments returns the command line arguments of Envoy. If r has a base id, they include the arguments for hot
// restart. The arguments for hot restart are not part of the hash launch.mark, because a running Envoy need not
// be replaced when they differ.
func (l launch) arguments(r run, f files) []string {
	if r.Base == 0 {
		return l.args
	}
	args := slices.DeleteFunc(slices.Clone(l.args), func(arg string) bool { return arg == noHotRestart })
	return append(args,
		"--base-id", strconv.Itoa(r.Base), "--restart-epoch", strconv.Itoa(r.Epoch),
		"--socket-path", filepath.Join(filepath.Dir(f.socket), sockets),
		// This option limits how long the previous epoch runs after this epoch begins to serve. --drain-time-s
		// keeps its default: it is for listeners that an edit replaces.
		"--parent-shutdown-time-s", strconv.Itoa(int(math.Ceil(l.drain.Seconds()))),
	)
}

// command returns the command that runs Envoy. With hot restart, the command runs gatefold, which then becomes
// Envoy (see RunDetached).
func (l launch) command(r run, f files) *exec.Cmd {
	args := l.arguments(r, f)
	if r.Base == 0 {
		return exec.Command(l.binary, args...)
	}
	return selfCommand(l.self, append([]string{l.binary}, args...)...)
}

// start starts the process that r describes, and writes its run file. It returns an error if there is no
// bootstrap, if a file cannot be written, or if the process does not start or ends at once. If the run file cannot
// be written after the process began, start kills the process, because the next gatefold could not adopt it. When ctx
// ends, gatefold no longer copies the log of the process, which keeps running.
func (l launch) start(ctx context.Context, f files, r run, log zerolog.Logger) (*process, error) {
	if l.err != nil {
		return nil, l.err
	}
	if r.Epoch == 0 {
		_ = os.Remove(f.socket) // the socket of an Envoy that has ended
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
	// The access log goes to gatefold's standard output: a terminal, a file or the journal. It still goes there
	// after gatefold has ended.
	command.Stdout, command.Stderr = os.Stdout, stderr
	command.SysProcAttr = ownSession()
	if err := r.write(f.run); err != nil { // before the start, in case gatefold is killed now
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
	go func() { // a panic ends gatefold: it could no longer notice the end of this Envoy
		err := command.Wait()
		p.over(howItEnded(command.ProcessState, err))
	}()
	go p.tail.run(ctx, f.logOf(r.Epoch), p.ended(), log)
	return p, nil
}

// environment returns the environment variables of gatefold, without those that systemd sets for gatefold
// alone.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "NOTIFY_SOCKET" || strings.HasPrefix(name, "WATCHDOG_") || strings.HasPrefix(name, "LISTEN_")
	})
}
