// Package host runs one Envoy for each Gateway on this machine (docs/design/gateways.md).
//
// An Envoy outlives the gatefold that started it: it has a session of its own, and a
// run file says which process it is, so that the next gatefold adopts it. It is
// started again when it dies, and drained when its Gateway goes. host.go says which
// Gateways there are to be; supervisor.go looks after one of them; process.go starts,
// recognizes and ends a process; admin.go asks an Envoy; log.go passes on what it says.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate/ir"
)

// ErrKeep as the cause of Run's context leaves the Envoys running for the next gatefold to
// adopt.
var ErrKeep = errors.New("the Envoys go on serving")

// SupervisorTask is the name of a supervisor in calls of Options.Steady.
const SupervisorTask = "supervisor"

// Options configure how Envoys are run.
type Options struct {
	// Binary is Envoy; NewBinary makes it.
	Binary Binary
	// Folder holds sockets, run files and logs. Only its owner may enter it.
	Folder string
	// XDSAddress is where Envoys find gatefold: "host:port" or "unix:/path".
	XDSAddress string
	// NodeID is the node.id of every Envoy, such as the name of this machine.
	NodeID string
	// DrainTime limits how long a stopping Envoy waits for requests under way.
	DrainTime time.Duration
	// Self are the arguments, from the name of the program on, with which this program runs RunDetached
	// of the arguments that follow, or CheckDetached. Without it, Envoys are started without hot restart.
	Self []string
	// MaxEnvoys is the most Envoys that run; 0 means the constant MaxEnvoys.
	MaxEnvoys int
	// Hurry, when closed, ends the drain of every Envoy: requests under way are cut off.
	Hurry <-chan struct{}
	// Steady, when set, runs a task until its context ends, and restarts it after a panic.
	Steady func(ctx context.Context, task string, run func(context.Context))
	// Changed, when set, is called with the states of all Envoys, sorted by Gateway, whenever
	// one changes. It may be called from any goroutine, one call at a time.
	Changed func([]State)
}

// Host runs the Envoys of this machine.
type Host struct {
	options Options
	log     zerolog.Logger
	lock    *os.File
	wake    chan struct{}

	mu     sync.Mutex
	wanted map[string]*ir.Infra // nil before the first Apply

	stateMu sync.Mutex
	states  map[string]State

	// hotRestart returns why Envoys cannot be started for hot restart; nil when they can.
	hotRestart func() error
}

// New locks the folder until Run ends. The error is about the folder, or means that another
// gatefold uses it.
func New(options Options, log zerolog.Logger) (*Host, error) {
	options.MaxEnvoys = cmp.Or(options.MaxEnvoys, MaxEnvoys)
	if options.Steady == nil {
		options.Steady = func(ctx context.Context, _ string, run func(context.Context)) { run(ctx) }
	}
	lock, err := take(options.Folder)
	if err != nil {
		return nil, fmt.Errorf("folder of the Envoys %s: %w", options.Folder, err)
	}
	return &Host{
		options: options, log: log, lock: lock,
		wake: make(chan struct{}, 1), states: map[string]State{},
		hotRestart: sync.OnceValue(func() error { return detachable(options.Self, options.Binary.Path) }),
	}, nil
}

// Apply applies changes. The first call has all Gateways: running Envoys of other Gateways are
// stopped. It never blocks.
func (h *Host) Apply(updates []ir.InfraUpdate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wanted == nil {
		h.wanted = map[string]*ir.Infra{}
	}
	for _, u := range updates {
		if h.wanted[u.Gateway] = u.Infra; u.Infra == nil {
			delete(h.wanted, u.Gateway)
		}
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// next returns the Gateways that should have an Envoy, and whether they are known.
func (h *Host) next() (map[string]*ir.Infra, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.wanted), h.wanted != nil
}

// Run starts, adopts and stops Envoys until ctx ends; then it drains and stops all of them,
// unless the cause is ErrKeep. It may be called once, and returns no error.
//
// A panic here ends the process: only this goroutine knows which supervisors there are, and a
// second set of them would start a second Envoy for each Gateway. The Envoys keep running, and
// the next gatefold adopts them.
func (h *Host) Run(ctx context.Context) error {
	defer h.lock.Close()
	crew := crew{host: h, ctx: ctx, all: map[string]*supervisor{}, ends: map[string]<-chan struct{}{}}
	for {
		select {
		case <-h.wake:
			crew.become(h.next())
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), ErrKeep) {
				h.announceDrain()
			}
			crew.running.Wait()
			return nil
		}
	}
}

// crew are the running supervisors. Only Run's goroutine uses it.
type crew struct {
	host    *Host
	ctx     context.Context
	all     map[string]*supervisor
	running sync.WaitGroup
	looked  bool // for the Envoys of an earlier gatefold
	// refused are the Gateways that have no Envoy for Options.MaxEnvoys.
	refused map[string]bool
	// ends are closed when the newest supervisor of a Gateway has come to its end.
	ends map[string]<-chan struct{}
}

// become starts supervisors for wanted Gateways, and stops all others.
func (c *crew) become(wanted map[string]*ir.Infra, known bool) {
	if !known {
		return
	}
	running := map[string]bool{}
	for gateway, s := range c.all {
		if running[gateway] = wanted[gateway] != nil; wanted[gateway] == nil {
			s.cancel(errGone)
			delete(c.all, gateway)
		}
	}
	if !c.looked {
		c.looked = true
		for _, gateway := range c.host.leftBehind(wanted) {
			if running[gateway] = wanted[gateway] != nil; wanted[gateway] == nil {
				c.supervise(gateway).cancel(errGone)
			}
		}
	}
	wanted, left := admit(wanted, running, c.host.options.MaxEnvoys)
	for _, gateway := range left {
		if running[gateway] { // the limit was higher
			c.supervise(gateway).cancel(errGone)
		}
	}
	c.refuse(left)
	for _, gateway := range slices.Sorted(maps.Keys(wanted)) {
		if c.all[gateway] == nil {
			c.all[gateway] = c.supervise(gateway)
		}
	}
}

// supervise starts supervising one Gateway. If its Envoy is still being drained, the new supervisor
// waits for the end of that.
func (c *crew) supervise(gateway string) *supervisor {
	ctx, cancel := context.WithCancelCause(c.ctx)
	s := newSupervisor(c.host, gateway, cancel)
	before, done := c.ends[gateway], make(chan struct{})
	c.ends[gateway] = done
	c.running.Go(func() {
		defer close(done)
		defer cancel(nil)
		if before != nil {
			<-before
		}
		// A panic costs the supervisor alone: it begins anew, and adopts the Envoy that its run
		// file names. One while Envoys are drained leaves the Envoy to the next gatefold.
		c.host.options.Steady(ctx, SupervisorTask, s.run)
	})
	return s
}
