// Package engine runs gatefold. It watches a folder. For each state of the folder (watcher.Tree), package store
// returns the objects that changed (store.Change). Package translate makes from them the Envoy resources and
// statuses that changed (translate.Result), and package server publishes these. The commands of server/cli give
// the engine its options.
//
// pipeline.flow is this sequence. pipeline.carry calls it for each Tree, and for each change of another input. carry
// also catches panics, repairs what a panic left inconsistent, and calls the observers in the order that
// Options.serve shows. reader (Tree to Change) adds the Secrets of a separate folder to those of the store.
// translation (Change to Result) withholds objects for which gatefold itself fails.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/oidc"
	"github.com/gatefold/gatefold/watcher"
)

// Options are the settings of Serve.
type Options struct {
	Folder Folder
	Server server.Options // the settings of the server; the engine sets its functions
	State  State
	// Issuers says which OpenID providers may be queried. The engine sets Changed, File and Log.
	Issuers oidc.Options
	// Host, if set, runs an Envoy for each Gateway on this machine.
	Host *Host
	// GateTests is true if a revision of the folder is applied only if its tests pass.
	GateTests bool
	// Strict is true if a revision of the folder is applied only if it brings no error.
	Strict bool
	// StatusDir is a folder to which the status of every object is written; "" means none.
	StatusDir string
	// Version is gatefold's version, for the log.
	Version string
	// Metrics are served in addition to those of the engine.
	Metrics []prometheus.Collector
	// Hurry is a channel. After it is closed, Envoys of this machine that are being stopped no longer wait for open
	// requests.
	Hurry <-chan struct{}
}

// ErrInterrupted as the cause of Serve's context means that a user pressed Ctrl-C. Then the Envoys of this
// machine are stopped even if Host.Keep is true.
var ErrInterrupted = errors.New("interrupted")

// Serve watches the folder and configures every Envoy that connects. It returns nil after ctx ends. It returns
// an error if an address or the folder of Secrets cannot be used, if another gatefold uses a state folder that the
// user named, or if the Envoys of this machine cannot be run. A folder that exists but cannot be read is an error,
// unless a saved state can be served.
func Serve(ctx context.Context, o Options, log zerolog.Logger) error {
	dir := o.Folder.Watch.Root
	dirErr := watchable(dir)
	if dirErr != nil && o.State.Dir == "" {
		return dirErr
	}
	o.Folder.Store.Progress = (&progress{log: log, now: time.Now}).note
	reader, err := newReader(ctx, o.Folder)
	if err != nil {
		return err
	}
	log.Info().Str("version", o.Version).Str("folder", dir).Msg("gatefold starts")
	kept, err := o.State.open(dir, reader, log)
	if err != nil {
		return err
	}
	defer kept.close()
	if dirErr != nil && !kept.restored() {
		return dirErr
	}
	return o.serve(ctx, reader, kept, log)
}

// watchable returns an error if dir exists but is not a readable folder. It returns nil if dir does not exist.
func watchable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("folder %s: %w", dir, rootCause(err))
	case !info.IsDir():
		return fmt.Errorf("folder %s: it is not a folder", dir)
	}
	if _, err := os.ReadDir(dir); err != nil {
		return fmt.Errorf("folder %s: %w", dir, rootCause(err))
	}
	return nil
}

// serve runs the server and all tasks until ctx ends. It returns an error if a task fails: for example, if an
// address cannot be used. It reads the folder after the addresses are bound.
func (o Options) serve(ctx context.Context, folder *reader, kept *state, log zerolog.Logger) error {
	outer := ctx
	group, ctx := errgroup.WithContext(ctx)
	p, manager := newPipeline(ctx, folder, log), newNotifier(log)
	without, vulnerable := newNoted(), newNoted()
	o.Server.Vulnerable = vulnerable.note
	srv, bound := o.newServer(p, manager, kept, log)
	envoys, err := o.Host.start(srv, without, o.Hurry, log)
	if err != nil {
		return err
	}
	p.server, p.state = srv, kept
	if o.GateTests || o.Strict {
		p.gate = newGate(folder, o.GateTests, o.Strict)
		srv.Register(p.gate.figures()...)
	}
	issuers := newIssuers(o.Issuers, p, srv)
	p.observers = []observer{
		hosted{envoys},
		kept,
		issuers,
		&runLog{log: log},
		&editLog{log: log, reader: folder},
		digests{srv, folder},
		edits{srv},
		reports{srv}, // the files of Options.StatusDir follow the server
		manager,
	}
	steady := func(task string, run func(context.Context)) {
		group.Go(func() error { srv.Steady(ctx, task, run); return nil })
	}
	if envoys == nil {
		defer context.AfterFunc(outer, func() { log.Info().Msg("stopping; Envoys keep what they have and serve it") })()
	} else {
		group.Go(func() error { return o.Host.run(ctx, outer, envoys) })
		steady("envoys", func(ctx context.Context) { without.run(ctx, p.lackEnvoys) })
	}
	steady("advisories", func(ctx context.Context) { vulnerable.run(ctx, p.vulnerable) })
	steady("notifier", func(ctx context.Context) { manager.run(ctx, srv, p.busy.stuck) })
	steady("busy", p.busy.watch)
	for range oidc.Workers {
		steady("issuers", issuers.Run)
	}
	kept.begin(p, srv)
	group.Go(abandonable(ctx, log, func() error { p.expect(); return nil }))
	defer startStatusDir(ctx, o.StatusDir, srv, log)()
	group.Go(func() error { return srv.Run(ctx) })
	o.watch(ctx, group, p, srv, bound)
	return group.Wait()
}

// newServer returns the server. The pipeline answers the server's queries about the folder. bound is closed
// after the addresses are bound.
func (o Options) newServer(p *pipeline, manager *notifier, kept *state, log zerolog.Logger) (srv *server.Server, bound chan struct{}) {
	bound = make(chan struct{})
	options := o.Server
	options.Listening = func(xds, admin net.Addr) {
		log.Info().Str("xds", xds.String()).Str("admin", admin.String()).Msg("listening")
		close(bound)
	}
	options.Folder, options.Quarantine = questions{p, manager}, p.quarantine
	options.Staging = p.staging(options.Staging, kept)
	srv = server.New(options, log)
	srv.Register(o.Metrics...)
	return srv, bound
}

// watch starts a goroutine in the errgroup that watches the folder. The goroutine first waits until the channel
// bound is closed. If there is a folder of Secrets, watch starts another goroutine, which watches that folder at
// once.
func (o Options) watch(ctx context.Context, group *errgroup.Group, p *pipeline, srv *server.Server, bound <-chan struct{}) {
	folder := o.Folder.Watch
	folder.Stats, folder.Rescan, folder.Arrived = new(watcher.Stats), p.rescan, p.yields.arriving
	folder.Filled = p.state.restored()
	if o.GateTests {
		folder.Takes = gatedFile
	}
	if len(o.Folder.Store.ClusterPaths) > 0 {
		folder.Unit = p.units.of
	}
	srv.Register(watchFigures(folder.Stats)...)
	group.Go(abandonable(ctx, p.log, func() error {
		select {
		case <-bound:
		case <-ctx.Done():
			return nil
		}
		return watching(ctx, srv, folder, p.log, p.reload)
	}))
	if p.reader.secrets == nil {
		return
	}
	secrets := watchSecrets(o.Folder.Secrets, folder.Limits)
	secrets.Mode, secrets.Quiet = folder.Mode, folder.Quiet
	group.Go(abandonable(ctx, p.log, func() error { return watching(ctx, srv, secrets, p.log, p.reloadSecrets) }))
}

// reports passes the result of each reload of the folder to the server, for metrics and admin pages. It
// implements observer.
type reports struct {
	server interface{ Reloaded(server.Reload) }
}

// observe implements observer.
func (s reports) observe(r *run) {
	if r.tree != nil {
		s.server.Reloaded(r.reload)
	}
}

// digests passes the digest of the served versions to the server, for metrics and admin pages. It implements observer.
type digests struct {
	server interface{ SetDigest(live uint64) }
	reader *reader
}

// observe implements observer.
func (d digests) observe(r *run) {
	if r.published {
		d.server.SetDigest(d.reader.store.Digest())
	}
}

// watching watches a folder until ctx ends, and calls take with each Tree, the files of the folder at one
// moment. After a panic it starts again and reads the whole folder. The error is that of watcher.Watch.
func watching(ctx context.Context, srv *server.Server, folder watcher.Options, log zerolog.Logger, take func(watcher.Tree)) (err error) {
	srv.Steady(ctx, "watcher", func(ctx context.Context) { err = watcher.Watch(ctx, folder, log, take) })
	return err
}

// abandonTime is how long the end of gatefold waits for a run that cannot be interrupted.
const abandonTime = 5 * time.Second

// abandonable returns a function that calls work and returns its error. But if work still runs when abandonTime
// has passed since ctx ended, the function logs this and returns nil without waiting. The process then ends, although
// work has not returned.
func abandonable(ctx context.Context, log zerolog.Logger, work func() error) func() error {
	return func() error {
		done := make(chan error, 1)
		go func() { done <- work() }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		select {
		case err := <-done:
			return err
		case <-time.After(abandonTime):
			log.Error().Msg("a run over the folder did not end in time; gatefold ends all the same")
			return nil
		}
	}
}
