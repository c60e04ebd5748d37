package engine

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store/visible"
)

// notifier reports the state of gatefold to the service manager by sd_notify(3): one datagram to the socket
// $NOTIFY_SOCKET. If that variable is not set, it does nothing.
type notifier struct {
	socket string
	log    zerolog.Logger
	once   sync.Once
	begun  chan struct{} // observe closes it after the first publication
}

// newNotifier returns a notifier that has not reported anything.
func newNotifier(log zerolog.Logger) *notifier {
	return &notifier{socket: os.Getenv("NOTIFY_SOCKET"), log: log, begun: make(chan struct{})}
}

// send sends one message to the service manager. Each of the lines is NAME=VALUE. If that fails, send only logs the
// error.
func (n *notifier) send(lines ...string) {
	if n.socket == "" {
		return
	}
	// A name that begins with "@" has no file. Go reads the name in the same way.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(lines, "\n")))
		_ = conn.Close()
	}
	if err != nil {
		n.log.Warn().Err(err).Msg("the service manager cannot be notified ($NOTIFY_SOCKET)")
	}
}

// run reports to the service manager that gatefold starts and stops. In between, it reports twice in each
// watchdog interval that gatefold is alive, except while the function stuck returns true. It returns after ctx ends,
// and at once if there is no socket (n.socket is "").
func (n *notifier) run(ctx context.Context, srv *server.Server, stuck func() bool) {
	if n.socket == "" {
		return
	}
	n.send("STATUS=Waits for the folder to be loaded.")
	var ticks <-chan time.Time
	if interval := watchdogInterval(); interval > 0 {
		ticker := time.NewTicker(interval / 2)
		defer ticker.Stop()
		ticks = ticker.C
	}
	begun := n.begun
	for {
		select {
		case <-begun:
			begun = nil
			n.send("READY=1", "STATUS=Serves what the folder says.")
		case <-ticks:
			srv.Alive() // it blocks if the server hangs
			if !stuck() {
				n.send("WATCHDOG=1")
			}
		case <-ctx.Done():
			n.send("STOPPING=1", "STATUS=Stops.") // this is not reached after a panic, after which run is called again
			return
		}
	}
}

// watchdogInterval returns the interval in which the service manager expects a report, 0 if it expects none
// (sd_watchdog_enabled(3)).
func watchdogInterval() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	microseconds, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || microseconds < 2 {
		return 0
	}
	return time.Duration(microseconds) * time.Microsecond
}

// observe implements observer. After the first publication, it closes n.begun: then notifier.run reports that
// gatefold is ready. If r is a run for a Tree of the folder, observe reports that the folder is frozen, or that it
// is served. It reports nothing if r failed, or if gatefold waits for a folder that is not there yet.
func (n *notifier) observe(r *run) {
	if r.published {
		n.once.Do(func() { close(n.begun) })
	}
	switch {
	case r.reload.Hold != "":
		n.send("STATUS=ALARM: the folder is frozen: " + visible.Text(r.reload.Hold))
	case r.reload.OK:
		n.send("STATUS=Serves what the folder says.")
	}
}
