package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/translate"
)

// hostOptions are the flags of host mode: an Envoy for each Gateway on this machine.
type hostOptions struct {
	on     bool
	path   string
	folder string
	drain  time.Duration
	most   int
	keep   bool

	host host.Options // what apply made of them
}

func (o *hostOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "envoy", false, "run an Envoy for each Gateway on this machine; xDS is served on a socket in --envoy-run-dir then, unless --xds-address says otherwise")
	flags.StringVar(&o.path, "envoy-path", "", "the Envoy of --envoy (default envoy on $PATH)")
	flags.StringVar(&o.folder, "envoy-run-dir", "", "where --envoy keeps sockets and which processes are its own (default $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/gatefold or /run/gatefold)")
	flags.DurationVar(&o.drain, "envoy-drain", 30*time.Second, "how long requests under way may take when an Envoy of --envoy ends")
	flags.IntVar(&o.most, "max-envoys", host.MaxEnvoys, "largest number of Envoys that --envoy runs: those that run stay, then older Gateways come first")
	flags.BoolVar(&o.keep, "envoy-keep", false, "leave the Envoys of --envoy running at SIGTERM, for the next gatefold to adopt; SIGINT ends them all the same")
}

// apply checks the flags, finds Envoy, and sets where it finds gatefold.
func (o *hostOptions) apply(ctx context.Context, to *server.Options, routes *translate.Options, log zerolog.Logger) error {
	if !o.on {
		return nil
	}
	if o.most < 1 {
		return fmt.Errorf("--max-envoys %d: at least 1", o.most)
	}
	if err := host.Check(); err != nil {
		return err
	}
	if to.TLS.Any() {
		return errors.New("--envoy and --xds-tls-cert exclude each other: for Envoys on other machines run a second gatefold on the folder")
	}
	folder, err := o.runFolder()
	if err != nil {
		return err
	}
	if to.XDSAddress == "" || to.XDSAddress == defaultXDSAddress {
		to.XDSAddress = "unix:" + filepath.Join(folder, "xds.sock")
	}
	binary, err := host.NewBinary(ctx, o.path)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(binary.Version, host.Supported) {
		log.Warn().Str("envoy", binary.Path).Str("version", binary.Version).
			Msg("gatefold is made for Envoy " + host.Supported + "x; with another version routes may not do what they say")
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	o.host = host.Options{Binary: binary, Folder: folder, XDSAddress: xdsOf(to.XDSAddress), NodeID: name, DrainTime: o.drain, MaxEnvoys: o.most}
	routes.ExclusivePorts = true
	return nil
}

// xdsOf is where an Envoy on this machine finds an address that gatefold listens on.
func xdsOf(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return address
	}
	return reachable(address)
}

// runFolder is the folder for sockets, absolute.
func (o *hostOptions) runFolder() (string, error) {
	if o.folder != "" {
		return filepath.Abs(o.folder)
	}
	// systemd makes it, and may list several.
	if folder, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":"); folder != "" {
		return folder, nil
	}
	if folder := os.Getenv("XDG_RUNTIME_DIR"); folder != "" {
		return filepath.Join(folder, "gatefold"), nil
	}
	if os.Geteuid() == 0 {
		return "/run/gatefold", nil
	}
	return "", errors.New("--envoy needs a folder for sockets: name it by --envoy-run-dir")
}

// start makes the Host, nil without --envoy. Its Envoys end at once when hurry is closed, and
// without learns of the Gateways that have none.
func (o *hostOptions) start(srv *server.Server, without *unhosted, hurry <-chan struct{}, log zerolog.Logger) (*host.Host, error) {
	if !o.on {
		return nil, nil
	}
	options := o.host
	options.Hurry, options.Steady = hurry, srv.Steady
	options.Changed = func(states []host.State) {
		srv.Supervised(states)
		without.note(states)
	}
	envoys, err := host.New(options, log)
	if err == nil {
		srv.Register(hostFigures(envoys)...)
	}
	return envoys, err
}

// hostFigures are the metrics of host mode.
func hostFigures(envoys *host.Host) []prometheus.Collector {
	gauge := func(name, help string, of func(host.State) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			total := 0
			for _, state := range envoys.States() {
				total += of(state)
			}
			return float64(total)
		})
	}
	return []prometheus.Collector{
		gauge("gatefold_host_envoys", "Envoys that --envoy is to run, one for each Gateway that --max-envoys allows.", func(s host.State) int {
			if s.Phase == host.Refused {
				return 0
			}
			return 1
		}),
		gauge("gatefold_host_envoys_running", "Envoys of --envoy that run.", func(s host.State) int {
			if notRunning(s) {
				return 0
			}
			return 1
		}),
		&restartFigures{envoys, prometheus.NewDesc("gatefold_host_envoy_restarts_total",
			"How often the Envoy of a Gateway ended and was started again since gatefold began.", []string{"gateway"}, nil)},
	}
}

// restartFigures count how often the Envoy of each Gateway was started again.
type restartFigures struct {
	envoys *host.Host
	desc   *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (f *restartFigures) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

// Collect implements prometheus.Collector.
func (f *restartFigures) Collect(to chan<- prometheus.Metric) {
	for _, s := range f.envoys.States() {
		to <- prometheus.MustNewConstMetric(f.desc, prometheus.CounterValue, float64(s.Restarts), s.Gateway)
	}
}

// run runs the Envoys until ctx ends. outer knows which signal that was, if any.
func (o *hostOptions) run(ctx, outer context.Context, envoys *host.Host) error {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		if o.keep && !errors.Is(context.Cause(outer), errInterrupted) {
			cancel(host.ErrKeep)
		}
		cancel(nil)
	})
	defer stop()
	return envoys.Run(run)
}

// hosted hands what is published to the Envoys of this machine, too.
type hosted struct {
	publisher
	envoys *host.Host
}

// Publish is publisher's. The server knows a Gateway before its Envoy asks for it.
func (h hosted) Publish(result translate.Result) {
	h.publisher.Publish(result)
	h.envoys.Apply(result.Infra)
}

// printSupervised prints a row for each Envoy that this machine is to run.
func printSupervised(out io.Writer, states []host.State) error {
	if len(states) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nGATEWAY\tENVOY HERE\tPID\tSINCE\tRESTARTS\tWHY")
	for _, s := range states {
		state, pid, since := string(s.Phase), "-", "-"
		if s.Adopted {
			state += " (adopted)"
		}
		if s.Pid != 0 {
			pid, since = fmt.Sprint(s.Pid), s.Started.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", s.Gateway, state, pid, since, s.Restarts, cell(s.Message))
	}
	return w.Flush()
}

func notRunning(s host.State) bool { return s.Phase != host.Running }
