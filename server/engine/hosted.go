package engine

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/host"
)

// Host has the settings of the Envoys on this machine.
type Host struct {
	Options host.Options
	// Keep leaves the Envoys running when the engine ends, unless it ends with ErrInterrupted.
	Keep bool
}

// start returns the host.Host that runs the Envoys of this machine, or nil if o is nil. After the channel hurry is
// closed, an Envoy that is being stopped no longer waits for open requests. The host passes the states of its
// Envoys to the server, and to the parameter lack, which reports the Gateways that have no Envoy because
// --max-envoys is reached. The error is that of host.New.
func (o *Host) start(srv *server.Server, lack *noted, hurry <-chan struct{}, log zerolog.Logger) (*host.Host, error) {
	if o == nil {
		return nil, nil
	}
	options := o.Options
	options.Hurry, options.Steady = hurry, srv.Steady
	options.Changed = func(states []host.State) {
		srv.Supervised(states)
		lack.note(unhostedProblems(states))
	}
	envoys, err := host.New(options, log)
	if err == nil {
		srv.Register(hostFigures(envoys)...)
	}
	return envoys, err
}

// hostFigures returns the metrics of host mode.
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
			if s.Phase == host.OverLimit {
				return 0
			}
			return 1
		}),
		gauge("gatefold_host_envoys_running", "Envoys of --envoy that run.", func(s host.State) int {
			if s.Phase != host.Running {
				return 0
			}
			return 1
		}),
		gauge("gatefold_host_envoys_outdated", "Envoys of --envoy that run in place of a newer one, which does not start.", func(s host.State) int {
			if !s.Outdated {
				return 0
			}
			return 1
		}),
		&restartFigures{envoys, prometheus.NewDesc("gatefold_host_envoy_restarts_total",
			"How often the Envoy of a Gateway ended and was started again since gatefold began.", []string{"gateway"}, nil)},
	}
}

// restartFigures is the metric of how often the Envoy of each Gateway was restarted.
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

// run runs the Envoys until ctx ends. The parameter outer is the context of Serve: its cause says why gatefold ends.
// If o.Keep is true and the cause is not ErrInterrupted, the Envoys are left running. Otherwise run stops them. The
// error is that of host.Host.Run.
func (o *Host) run(ctx, outer context.Context, envoys *host.Host) error {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		if o.Keep && !errors.Is(context.Cause(outer), ErrInterrupted) {
			cancel(host.ErrKeep)
		}
		cancel(nil)
	})
	defer stop()
	return envoys.Run(run)
}

// hosted passes each published Gateway to the Envoys that gatefold runs on this machine. As an observer, it is
// called after a publication, so that the server knows a Gateway before the Gateway's Envoy connects. The field
// envoys is nil without Options.Host.
type hosted struct{ envoys *host.Host }

// observe implements observer.
func (h hosted) observe(r *run) {
	if h.envoys != nil && r.published {
		h.envoys.Apply(r.result.Infra)
	}
}
