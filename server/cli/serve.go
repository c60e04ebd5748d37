package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/watcher"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	folder folderOptions
	server server.Options
	access transportOptions
	envoys hostOptions
	state  stateOptions
	status statusDirOptions
	log    logOptions
	strict bool
	watch  string
	quiet  time.Duration // watcher.Options.Quiet, for tests on slow machines
}

func serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Watch a folder and keep Envoy configured by it",
		Long: "Watch a folder of Gateway API YAML and keep every Envoy that connects configured by it.\n" +
			"A folder that is not there yet is waited for. A mistake in a file is logged, and the last good\n" +
			"version of what it is about goes on serving. SIGINT and SIGTERM stop it, with --envoy after open\n" +
			"requests are answered (--envoy-drain); a second one stops it at once, with exit code 2.",
		Args: exactly("the folder to watch"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server.XDSAddress, "xds-address", defaultXDSAddress, "where Envoys connect: HOST:PORT or unix:/path")
	flags.StringVar(&o.server.AdminAddress, "admin-address", defaultAdminAddress, "where /readyz, /metrics and /api/v1 are served: HOST:PORT or unix:/path")
	flags.BoolVar(&o.server.XDSInsecure, "xds-insecure", false, "let --xds-address be reached from other hosts, without TLS: they can read every secret")
	flags.BoolVar(&o.server.Profile, "pprof", false, "add /debug/pprof to the admin pages, over loopback and unix sockets alone: CPU and heap profiles for go tool pprof")
	flags.BoolVar(&o.strict, "strict", false, "hold a whole change back while any document is invalid")
	flags.StringVar(&o.watch, "watch", "auto", "auto (events of the system where it gives any, and scans), inotify (fail without events) or poll (scans alone)")
	o.access.register(flags)
	o.envoys.register(flags)
	o.state.register(flags)
	o.status.register(flags)
	o.folder.register(flags)
	o.log.register(flags)
	return cmd
}

func (o *serveOptions) run(ctx context.Context, dir string, stderr io.Writer) error {
	log, err := o.log.logger(stderr)
	if err != nil {
		return err
	}
	mode, err := watchMode(o.watch)
	if err != nil {
		return err
	}
	if err := o.access.apply(&o.server); err != nil {
		return err
	}
	if err := o.envoys.apply(ctx, &o.server, &o.folder.routes, log); err != nil {
		return err
	}
	if err := o.status.check(dir, o.folder.secrets); err != nil {
		return err
	}
	dirErr := watchable(dir)
	if dirErr != nil && o.state.off() {
		return dirErr
	}
	o.folder.guard.own = []string{o.server.XDSAddress, o.server.AdminAddress}
	o.folder.save, o.folder.saveSecrets = !o.state.off(), o.state.secrets
	o.folder.progress = (&progress{log: log, now: time.Now}).note
	both, err := newSteps(ctx, o.folder, o.strict)
	if err != nil {
		return err
	}
	log.Info().Str("version", readBuild().Version).Str("folder", dir).Msg("gatefold starts")
	kept, err := o.state.open(dir, both, log)
	if err != nil {
		return err
	}
	defer kept.close()
	if dirErr != nil && !kept.restored() {
		return dirErr
	}
	folder, err := o.folder.watched(dir)
	if err != nil {
		return err
	}
	folder.Mode, folder.Quiet, folder.Stats = mode, o.quiet, new(watcher.Stats)
	err = o.serve(ctx, folder, both, kept, log)
	if err == nil && closed(hurried(ctx)) {
		return errHurried
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another by --xds-address or --admin-address", err)
	}
	if err == nil {
		log.Info().Msg("gatefold stopped")
	}
	return err
}

// errHurried is the end by a second signal.
var errHurried = errors.New("a second signal stopped gatefold at once; open requests were cut off")

// closed reports whether a channel is closed on which nothing is sent; a nil one is not.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// watchable refuses what will not become a folder by waiting.
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
func (o *serveOptions) serve(ctx context.Context, folder watcher.Options, both *steps, kept *state, log zerolog.Logger) error {
	bound := make(chan struct{})
	options := o.server
	options.Listening = func(xds, admin net.Addr) {
		log.Info().Str("xds", xds.String()).Str("admin", admin.String()).Msg("listening")
		close(bound)
	}
	p := newPipeline(ctx, both, log)
	folder.Rescan, folder.Arrived = p.rescan, p.arriving
	told, outer := newNotifier(log), ctx
	group, ctx := errgroup.WithContext(ctx)
	p.ending = ctx
	options.Reload = told.reloading(p.again)
	options.Places, options.Outlines, options.Labels = p.places, p.outlines, p.labels
	options.Quarantine, options.Busy = p.quarantine, p.busy.state
	srv := server.New(options, log)
	srv.Register(watchFigures(folder.Stats)...)
	srv.Register(readBuild().figure())
	p.publisher = told.ready(srv)
	p.rehearsal = func() publisher { return server.New(server.Options{}, zerolog.Nop()) }
	without := newUnhosted()
	envoys, err := o.envoys.start(srv, without, hurried(outer), log)
	if err != nil {
		return err
	}
	if envoys == nil {
		defer context.AfterFunc(outer, func() { log.Info().Msg("stopping; Envoys keep what they have and serve it") })()
	} else {
		p.publisher = hosted{p.publisher, envoys}
		group.Go(func() error { return o.envoys.run(ctx, outer, envoys) })
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
	defer o.status.start(ctx, srv, log)()
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
		secrets := watchSecrets(o.folder.secrets, o.folder.tree)
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
