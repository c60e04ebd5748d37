package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy"
)

// launch is all that makes one Envoy what it is.
type launch struct {
	gateway   string
	binary    string
	args      []string
	bootstrap []byte
	err       error // why there is no bootstrap
	// mark is a sum of it all: an Envoy with another mark is to be replaced.
	mark string
}

func newLaunch(o Options, gateway string, f files) launch {
	l := launch{gateway: gateway, binary: o.Binary.Path, args: []string{
		"--config-path", f.bootstrap,
		// It would share memory with other Envoys under a number of its own.
		"--disable-hot-restart",
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

// start starts the process, and notes which it is. An Envoy that could not be adopted
// later is not left running.
func (l launch) start(ctx context.Context, f files, log zerolog.Logger) (*process, error) {
	if l.err != nil {
		return nil, l.err
	}
	_ = os.Remove(f.socket) // Envoy does not take the place of an old one
	if err := replace(f.bootstrap, l.bootstrap); err != nil {
		return nil, err
	}
	stderr, err := os.OpenFile(f.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	command := exec.Command(l.binary, l.args...)
	command.Dir, command.Env = "/", environment()
	// The access log goes where gatefold's output goes, be it a terminal, a file or the
	// journal, and goes on there without gatefold.
	command.Stdout, command.Stderr = os.Stdout, stderr
	command.SysProcAttr = ownSession()
	r := run{Gateway: l.gateway, Boot: bootID(), Mark: l.mark, Since: time.Now()}
	if err := r.write(f.run); err != nil { // before the start: if gatefold is killed now, the next one finds it
		return nil, err
	}
	p := newProcess(l.mark)
	p.tail.from(stderr)
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.pid, p.handle, p.since = command.Process.Pid, command.Process, r.Since
	err = r.of(p.pid, f)
	if err != nil {
		err = errors.Join(err, command.Process.Kill())
		_ = command.Wait() // it was killed
		return nil, err
	}
	go func() { // a panic ends the process, as nobody would notice the end of this Envoy
		err := command.Wait()
		p.over(howItEnded(command.ProcessState, err))
	}()
	go p.tail.run(ctx, f.log, p.ended(), log)
	return p, nil
}

// environment is gatefold's own, without what systemd tells gatefold alone.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "NOTIFY_SOCKET" || strings.HasPrefix(name, "WATCHDOG_") || strings.HasPrefix(name, "LISTEN_")
	})
}
