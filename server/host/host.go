// Package host runs one Envoy for each Gateway on this machine (docs/design/gateways.md).
//
// An Envoy outlives the gatefold that started it. It runs in its own session, and a run file identifies its
// process, so that the next gatefold adopts it. gatefold starts an Envoy again when it dies, and drains it when
// its Gateway is removed. To start another version, gatefold uses Envoy's hot restart: the next epoch of the
// Envoy takes over from the former one.
//
// host.go decides which Gateways get an Envoy. supervisor.go manages the Envoy of one Gateway. process.go
// starts, recognizes and ends a process. admin.go is the client of Envoy's admin interface. log.go copies
// Envoy's log lines.
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

// ErrKeep is a cause for the end of Run's context. With it, Run leaves the Envoys running, and the next
// gatefold adopts them.
var ErrKeep = errors.New("the Envoys keep serving")

// SupervisorTask is the task name that each supervisor is given in the call of Options.Steady, which runs the
// supervisor and restarts it after a panic.
const SupervisorTask = "supervisor"

// Options configure a Host.
type Options struct {
	// Binary is the Envoy to run, from NewBinary.
	Binary Binary
	// Folder is the folder for sockets, run files and logs. Only its owner may have access to it.
	Folder string
	// XDSAddress is the address at which Envoys connect to gatefold: "host:port" or "unix:/path".
	XDSAddress string
	// NodeID is the node.id of every Envoy, such as the name of this machine.
	NodeID string
	// DrainTime limits how long a stopping Envoy waits for open requests.
	DrainTime time.Duration
	// Self is a command line that starts gatefold, with the name of the program first. With further arguments
	// appended, that command calls RunDetached with them. Without further arguments, it calls CheckDetached. If
	// Self is empty, Envoys are started without hot restart.
	Self []string
	// MaxEnvoys is the highest number of Gateways that have an Envoy; 0 means the constant MaxEnvoys.
	MaxEnvoys int
	// Hurry is a channel that ends the drain of every Envoy when it is closed. Open requests are then cut off.
	Hurry <-chan struct{}
	// Steady runs a task until its context ends, and restarts the task after a panic. If Steady is nil, a task
	// runs once.
	Steady func(ctx context.Context, task string, run func(context.Context))
	// Changed is called with the states of all Envoys, sorted by Gateway, whenever a state changes. It may be
	// nil. Calls come from any goroutine, one at a time.
	Changed func([]State)
}

// Host runs an Envoy for each Gateway on this machine.
type Host struct {
	options Options
	log     zerolog.Logger
	lock    *os.File
	wake    chan struct{}

	mu     sync.Mutex
	wanted map[string]*ir.Infra // nil before the first Apply

	stateMu sync.Mutex
	states  map[string]State

	// hotRestart returns the reason why Envoys cannot be started for hot restart, or nil if they can.
	hotRestart func() error
}

// New returns a Host, and locks Options.Folder until Run ends. The error means that the folder cannot be used,
// or that another gatefold uses it.
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

// Apply changes the set of Gateways that need an Envoy: each update sets a Gateway, or removes it if the update
// has no Infra. The first call must contain all Gateways, because Run then stops the running Envoys of all
// others. Apply does not block.
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

// next returns the Gateways that need an Envoy. The second result is false before the first call of Apply.
func (h *Host) next() (map[string]*ir.Infra, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.wanted), h.wanted != nil
}

// Run starts, adopts and stops Envoys until ctx ends. Then it drains and stops all Envoys, unless the cause of
// ctx is ErrKeep. Run may be called only once. It always returns nil.
//
// A panic in Run ends the process. Only this goroutine knows the supervisors, and a second set of supervisors
// would start a second Envoy for each Gateway. The Envoys keep running, and the next gatefold adopts them.
func (h *Host) Run(ctx context.Context) error {
	defer unlock(h.lock)
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

// crew is the set of running supervisors. Only the goroutine of Run uses it.
type crew struct {
	host    *Host
	ctx     context.Context
	all     map[string]*supervisor
	running sync.WaitGroup
	looked  bool // whether the method become has already looked for the Envoys of an earlier gatefold
	// refused are the Gateways without an Envoy because of Options.MaxEnvoys.
	refused map[string]bool
	// ends has a channel for each Gateway. The channel is closed when the newest supervisor of the Gateway has
	// ended.
	ends map[string]<-chan struct{}
}

// become starts supervisors for the wanted Gateways, at most Options.MaxEnvoys, and stops all other supervisors.
// The method refuse gets the Gateways above that limit. The parameter known is false before the first call of Apply;
// then become does nothing. The first call with known true also looks for the Envoys of an earlier gatefold, and
// ends those whose Gateway is not wanted or is above the limit.
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
		if running[gateway] { // an earlier gatefold had a higher limit
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

// supervise starts a supervisor for one Gateway and returns it. If the previous Envoy of the Gateway is still
// being drained, the new supervisor first waits until that drain has ended.
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
		// After a panic, only this supervisor starts again, and adopts the Envoy of its run file. After a panic
		// during a drain, Steady does not run it again: the next gatefold adopts the Envoy.
		c.host.options.Steady(ctx, SupervisorTask, s.run)
	})
	return s
}
