package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/envoy/advisory"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/engine"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	folder folderOptions
	server server.Options
	access transportOptions
	envoys hostOptions
	// advisories is the file of --advisories, or "" for the table of the program.
	advisories string
	state      stateOptions
	status     statusDirOptions
	issuer     issuerOptions
	stage      stageOptions
	log        logOptions
	strict     bool
	gated      bool
	watch      string
	// settings is the path of the settings file that was read, or "".
	settings string
	quiet    time.Duration // watcher.Options.Quiet; only tests set it
}

func serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Watch a folder and keep Envoy configured by it",
		Long: "Watch a folder of Gateway API YAML and keep every Envoy that connects configured by it.\n" +
			"A folder that is not there yet is waited for. A mistake in a file is logged, and the last\n" +
			"valid version of the object is still served. SIGINT and SIGTERM stop it, with --envoy after open\n" +
			"requests are answered (--envoy-drain); a second one stops it at once, with exit code 2.",
		Args: exactly("the folder to watch"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.settings = settingsFile(cmd.Flags())
			return o.run(cmd.Context(), args[0], cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server.XDSAddress, "xds-address", defaultXDSAddress, "where Envoys connect: HOST:PORT or unix:/path")
	flags.StringVar(&o.server.AdminAddress, "admin-address", defaultAdminAddress, "where /readyz, /metrics and /api/v1 are served: HOST:PORT or unix:/path")
	flags.StringSliceVar(&o.server.AdminHosts, "admin-hosts", nil, "names by which browsers and others may ask for the admin pages, beside IP addresses and localhost (default: any on an address other than loopback)")
	flags.BoolVar(&o.server.XDSInsecure, "xds-insecure", false, "let --xds-address be reached from other hosts, without TLS: they can read every secret")
	flags.BoolVar(&o.server.Profile, "pprof", false, "add /debug/pprof to the admin pages, over loopback and unix sockets alone: CPU and heap profiles for go tool pprof")
	flags.BoolVar(&o.strict, "strict", false, "apply a revision of the folder only if it brings no error; else what served before is still served")
	flags.BoolVar(&o.gated, "gate-tests", false, "apply a revision of the folder only if its tests pass, as gatefold test runs them; else what served before is still served")
	flags.StringVar(&o.watch, "watch", "auto", "auto (events of the system where it gives any, and scans), inotify (fail without events) or poll (scans alone)")
	o.access.register(flags)
	o.envoys.register(flags)
	registerAdvisories(flags, &o.advisories)
	o.state.register(flags)
	o.status.register(flags)
	o.issuer.register(flags)
	o.stage.register(flags)
	o.folder.register(flags)
	o.log.register(flags)
	flags.VisitAll(markSetting)
	return cmd
}

// run checks the flags and serves the folder dir until ctx ends. It returns errHurried if a second signal ended
// it. Other errors mean that a flag is invalid or that serving failed.
func (o *serveOptions) run(ctx context.Context, dir string, stderr io.Writer) error {
	log, err := o.log.logger(stderr)
	if err != nil {
		return err
	}
	if o.settings != "" {
		log.Info().Str("settings", o.settings).Msg("gatefold reads flags from a settings file")
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
	if o.server.Advisories, err = advisory.Read(o.advisories); err != nil {
		return fmt.Errorf("--%s: %w", advisoriesFlag, err)
	}
	if err := o.stage.apply(&o.server.Staging); err != nil {
		return err
	}
	if err := o.status.check(dir, o.folder.secrets); err != nil {
		return err
	}
	o.folder.guard.own = []string{o.server.XDSAddress, o.server.AdminAddress}
	state, err := o.state.of(dir)
	if err != nil {
		return err
	}
	issuers, err := o.issuer.of()
	if err != nil {
		return err
	}
	folder, err := o.folder.folder(dir)
	if err != nil {
		return err
	}
	folder.Store.Save, folder.Store.SaveSecrets = state.Dir != "", state.Secrets
	folder.Watch.Mode, folder.Watch.Quiet = mode, o.quiet
	err = engine.Serve(ctx, engine.Options{
		Folder: folder, Server: o.server, State: state, Host: o.envoys.host, StatusDir: o.status.dir, GateTests: o.gated, Strict: o.strict, Issuers: issuers,
		Version: readBuild().Version, Metrics: []prometheus.Collector{readBuild().figure()}, Hurry: hurried(ctx),
	}, log)
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

// errHurried is the error of a command that a second signal ended.
var errHurried = errors.New("a second signal stopped gatefold at once; open requests were cut off")

// closed reports whether a channel is closed. It returns false for nil. The channel must never get a value.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
