package figures

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatefold/gatefold/server/admin"
)

// busyFigures is the metric of how long the running step of the engine has taken.
type busyFigures struct {
	ask  func() admin.Busy
	desc *prometheus.Desc
}

// FollowBusy adds the metric gatefold_pipeline_busy_seconds: how long the running step of the pipeline has taken so
// far. The function ask returns the running step and this time. The metric calls ask whenever metrics are read.
func (m *Set) FollowBusy(ask func() admin.Busy) {
	m.Registry.MustRegister(&busyFigures{ask, prometheus.NewDesc("gatefold_pipeline_busy_seconds",
		"How long the step that is under way has taken so far, by step; 0 for the others.", []string{"step"}, nil)})
}

// Describe implements prometheus.Collector.
func (f *busyFigures) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

// Collect implements prometheus.Collector.
func (f *busyFigures) Collect(to chan<- prometheus.Metric) {
	now := f.ask()
	for _, step := range admin.BusySteps() {
		seconds := 0.0
		if step == now.Step {
			seconds = now.Took.Seconds()
		}
		to <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, seconds, step)
	}
}
