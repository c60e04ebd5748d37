// Package engine runs gatefold: it watches a folder, and for each Tree publishes what
// translate makes of what the store makes of it. pipeline.go has that statement, and what
// happens where a step fails; the other files are what follows a publication: the Envoys of
// this machine, the saved state, files with the status of objects, the log and the service
// manager. The commands of server/cli give it its options.
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
	"github.com/gatefold/gatefold/watcher"
)

// Options say what Serve does.
type Options struct {
	Folder Folder
	Server server.Options // the engine fills in its functions
	State  State
	// Host, if any, runs an Envoy for each Gateway on this machine.
	Host *Host
	// StatusDir is a folder that the status of every object is written to; "" is none.
	StatusDir string
	// Version of gatefold, for the log.
	Version string
	// Metrics are shown beside those of the engine.
	Metrics []prometheus.Collector
	// Hurry, when closed, has the Envoys of this machine end at once.
	Hurry <-chan struct{}
}

// ErrInterrupted as the cause of the end of Serve's context says that a person ended it at
// a terminal: Envoys of this machine end too, whatever Host.Keep says.
var ErrInterrupted = errors.New("interrupted")

// Serve watches the folder and keeps every Envoy that connects configured by it, until ctx
// ends or an address cannot be used.
func Serve(ctx context.Context, o Options, log zerolog.Logger) error {
	dir := o.Folder.Watch.Root
	dirErr := watchable(dir)
	if dirErr != nil && o.State.Dir == "" {
		return dirErr
	}
	o.Folder.Store.Progress = (&progress{log: log, now: time.Now}).note
	both, err := newSteps(ctx, o.Folder)
	if err != nil {
		return err
	}
	log.Info().Str("version", o.Version).Str("folder", dir).Msg("gatefold starts")
	kept, err := o.State.open(dir, both, log)
	if err != nil {
		return err
	}
	defer kept.close()
	if dirErr != nil && !kept.restored() {
		return dirErr
	}
	return o.serve(ctx, both, kept, log)
}

// watchable returns an error for a path that will not become a folder by waiting.
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

// serve runs until ctx ends or an address cannot be used. The folder is looked
// at once the addresses are bound.
func (o Options) serve(ctx context.Context, both *steps, kept *state, log zerolog.Logger) error {
	bound := make(chan struct{})
	options := o.Server
	options.Listening = func(xds, admin net.Addr) {
		log.Info().Str("xds", xds.String()).Str("admin", admin.String()).Msg("listening")
		close(bound)
	}
	p := newPipeline(ctx, both, log)
	folder := o.Folder.Watch
	folder.Stats = new(watcher.Stats)
	folder.Rescan, folder.Arrived = p.rescan, p.arriving
	told, outer := newNotifier(log), ctx
	group, ctx := errgroup.WithContext(ctx)
	p.ending = ctx
	options.Reload = told.reloading(p.again)
	options.Places, options.Outlines, options.Labels = p.places, p.outlines, p.labels
	options.Quarantine, options.Busy = p.quarantine, p.busy.state
	srv := server.New(options, log)
	srv.Register(watchFigures(folder.Stats)...)
	srv.Register(o.Metrics...)
	p.publisher = told.ready(srv)
	p.rehearsal = func() publisher { return server.New(server.Options{}, zerolog.Nop()) }
	without := newUnhosted()
	envoys, err := o.Host.start(srv, without, o.Hurry, log)
	if err != nil {
		return err
	}
	if envoys == nil {
		defer context.AfterFunc(outer, func() { log.Info().Msg("stopping; Envoys keep what they have and serve it") })()
	} else {
		p.publisher = hosted{p.publisher, envoys}
		group.Go(func() error { return o.Host.run(ctx, outer, envoys) })
		group.Go(func() error {
			srv.Steady(ctx, "envoys", func(ctx context.Context) { without.run(ctx, p.lackEnvoys) })
			return nil
		})
	}
	group.Go(func() error {
		srv.Steady(ctx, "notifier", func(ctx context.Context) { told.run(ctx, srv, p.busy.stuck) })
		return nil
	})
	group.Go(func() error { srv.Steady(ctx, "busy", p.busy.watch); return nil })
	kept.begin(p, srv)
	group.Go(abandonable(ctx, log, func() error { p.expect(); return nil }))
	defer startStatusDir(ctx, o.StatusDir, srv, log)()
	group.Go(func() error { return srv.Run(ctx) })
	group.Go(abandonable(ctx, log, func() error {
		select {
		case <-bound:
		case <-ctx.Done():
			return nil
		}
		return watching(ctx, srv, folder, log, p.reload)
	}))
	if p.secrets != nil {
		secrets := watchSecrets(o.Folder.Secrets, folder.Limits)
		secrets.Mode, secrets.Quiet = folder.Mode, folder.Quiet
		group.Go(abandonable(ctx, log, func() error { return watching(ctx, srv, secrets, log, p.reloadSecrets) }))
	}
	return group.Wait()
}

// watching watches a folder until ctx ends. After a panic it begins anew, with all of the folder.
// The error is that of watcher.Watch.
func watching(ctx context.Context, srv *server.Server, folder watcher.Options, log zerolog.Logger, take func(watcher.Tree)) (err error) {
	srv.Steady(ctx, "watcher", func(ctx context.Context) { err = watcher.Watch(ctx, folder, log, take) })
	return err
}

// abandonTime is how long the end of gatefold waits for a run that cannot be interrupted.
const abandonTime = 5 * time.Second

// abandonable returns work that ends at most abandonTime after ctx. What is under way then
// is left alone: the process ends, and nothing of it was published.
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
