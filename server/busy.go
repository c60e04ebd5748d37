package server

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Busy reports which step of a change is running. It is zero between two changes.
type Busy struct {
	// Step is the running step: one of BusySteps.
	Step string
	// Took is how long the step has been running.
	Took time.Duration
	// Behind is how long the newest change of the folder has waited to be applied.
	Behind time.Duration
}

const (
	// BusyAlarm is how long a step may take before it is reported.
	BusyAlarm = 10 * time.Second
	// busyUnready is how long a change may take before /readyz says that a new Envoy should not
	// rely on what it is given: that is older than the folder.
	busyUnready = time.Minute
)

// BusySteps returns the steps from a change of the folder to its publication, in order.
func BusySteps() []string { return []string{"store", "translate", "locate", "publish"} }

// busy asks what is under way.
func (s *Server) busy() Busy {
	if s.options.Busy == nil {
		return Busy{}
	}
	return s.options.Busy()
}

// words says which step takes too long; "" when none does.
func (b Busy) words() string {
	if b.Step == "" || max(b.Took, b.Behind) < BusyAlarm {
		return ""
	}
	return fmt.Sprintf("gatefold has been busy with the step %s for %d s; it still serves what it served before, and applies no later edit until the step has ended",
		b.Step, int(max(b.Took, b.Behind).Seconds()))
}

// unready says why a new Envoy should not rely on what it is given; "" when it may.
func (b Busy) unready() string {
	if b.Step == "" || b.Behind < busyUnready {
		return ""
	}
	return b.words()
}

// busyFigures tell how long each step has taken so far.
type busyFigures struct {
	ask  func() Busy
	desc *prometheus.Desc
}

func newBusyFigures(ask func() Busy) *busyFigures {
	return &busyFigures{ask, prometheus.NewDesc("gatefold_pipeline_busy_seconds",
		"How long the step that is under way has taken so far, by step; 0 for the others.", []string{"step"}, nil)}
}

// Describe implements prometheus.Collector.
func (f *busyFigures) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

// Collect implements prometheus.Collector.
func (f *busyFigures) Collect(to chan<- prometheus.Metric) {
	now := f.ask()
	for _, step := range BusySteps() {
		seconds := 0.0
		if step == now.Step {
			seconds = now.Took.Seconds()
		}
		to <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, seconds, step)
	}
}
