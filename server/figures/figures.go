// Package figures has the server's metrics, for /metrics. Its callers report what happened; it knows nothing
// else of streams and Gateways. Any goroutine may use it.
package figures

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/gatefold/gatefold/server/delta"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/server/mtls"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// Set has the metrics of one server, in a registry of its own.
type Set struct {
	// Registry is what /metrics shows. Other packages add their metrics to it.
	Registry *prometheus.Registry
	// AdminPanics counts the admin pages that answered 500 because of a panic.
	AdminPanics prometheus.Counter

	streams    prometheus.Gauge
	resources  *prometheus.GaugeVec
	pushes     *prometheus.CounterVec
	acks       *prometheus.CounterVec
	nacks      *prometheus.CounterVec
	bytes      *prometheus.CounterVec
	refused    *prometheus.CounterVec
	probes     prometheus.Counter
	quarantine prometheus.Gauge
	old        prometheus.Gauge
	panics     prometheus.Counter
	// taskPanics counts the background tasks that started again after a panic.
	taskPanics *prometheus.CounterVec
	// staged counts the revisions of fleets with canaries, by result. frozen is the number of frozen fleets.
	staged     *prometheus.CounterVec
	frozen     prometheus.Gauge
	ends       *certificateEnds
	problems   *prometheus.GaugeVec
	reloads    *prometheus.CounterVec
	reloadOK   prometheus.Gauge
	reloadTime prometheus.Gauge
	hold       prometheus.Gauge
	stale      *prometheus.GaugeVec
	counted    []store.Stale // those that stale counts
	live       prometheus.Gauge
	stages     *prometheus.HistogramVec
}

// New returns the metrics of a new server.
func New() *Set {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	gauges := func(name, help, label string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m := &Set{
		Registry:  registry,
		streams:   gauge("gatefold_xds_streams", "Connected Envoys."),
		resources: gauges("gatefold_xds_resources", "Resources that are to be served, by type.", "type"),
		pushes:    counters("gatefold_xds_pushes_total", "Responses sent, by type.", "type"),
		acks:      counters("gatefold_xds_acks_total", "Responses accepted by an Envoy, by type.", "type"),
		nacks:     counters("gatefold_xds_nacks_total", "Responses rejected by an Envoy, by type.", "type"),
		bytes:     counters("gatefold_xds_sent_bytes_total", "Bytes of responses sent, by type.", "type"),
		refused:   counters("gatefold_xds_refused_total", "Connections and streams refused or ended, by cause: client, connections, handshake, identity, limit, request, silent, type or version.", "cause"),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "gatefold_xds_panics_total", Help: "Streams ended by a mistake in gatefold.",
		}),
		AdminPanics: f.NewCounter(prometheus.CounterOpts{
			Name: "gatefold_admin_panics_total", Help: "Admin requests that failed with 500 because of an internal error.",
		}),
		taskPanics: counters("gatefold_task_panics_total", "Background tasks that began anew after an internal error, by task.", "task"),
		probes: f.NewCounter(prometheus.CounterOpts{
			Name: "gatefold_xds_probes_total", Help: "Tables sent to find out which route an Envoy rejects.",
		}),
		quarantine: gauge("gatefold_xds_quarantined", "Rules that every connected Envoy rejected and that answer 500, until they change."),
		old:        gauge("gatefold_xds_unsupported_envoys", "Connected Envoys older than those that gatefold is tested with."),
		staged:     counters("gatefold_staged_revisions_total", "Revisions of fleets with canaries, by result: promoted, frozen, forced (by a person) or unjudged (no canary was connected).", "result"),
		frozen:     gauge("gatefold_frozen_fleets", "Fleets of which only canaries have the newest revision, as they did not accept it."),
		ends:       newCertificateEnds(),
		problems: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gatefold_problems",
			Help: "Problems of the folder, by severity, code and the namespace of the object; of the namespaces beyond the 50 with the most problems together as _other.",
		}, []string{"severity", "code", "namespace"}),
		reloads:    counters("gatefold_reloads_total", "Changes of the folder that were looked at, by result: ok, problems, frozen, waiting (for the folder) or failed (in gatefold).", "result"),
		reloadOK:   gauge("gatefold_last_reload_successful", "1 when the last reload was taken over, else 0."),
		reloadTime: gauge("gatefold_last_reload_success_timestamp_seconds", "When the last successful reload was, in Unix time."),
		hold:       gauge("gatefold_frozen", "1 while the folder is frozen: it was emptied or is missing, and what it held before is served; else 0."),
		stale: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gatefold_stale_objects",
			Help: "Objects whose last valid version is served, by the stage at which the newest one fails: read, check, translate or frozen; protects is true if the edit that is not applied may take away access.",
		}, []string{"stage", "protects"}),
		live: gauge("gatefold_live_digest", "A number that stands for the versions of all objects that are served; replicas that serve the same versions have the same number."),
		stages: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gatefold_stage_duration_seconds", Help: "Time that a step of a reload took.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"stage"}),
	}
	registry.MustRegister(m.ends)
	m.begin()
	return m
}

// begin makes time series with the value 0 for label values that are known in advance: for responses, refusals,
// staged revisions, tasks and problems. Without this first value, Prometheus would not see the first increase, and
// an alert would miss it.
func (m *Set) begin() {
	for _, typ := range delta.Types() {
		for _, counters := range []*prometheus.CounterVec{m.pushes, m.acks, m.nacks, m.bytes} {
			counters.WithLabelValues(xds.ShortType(typ))
		}
	}
	for _, cause := range causes() {
		m.refused.WithLabelValues(cause)
	}
	for _, result := range []string{"promoted", "frozen", "forced", "unjudged"} {
		m.staged.WithLabelValues(result)
	}
	for _, result := range []string{"ok", "problems", "frozen", "waiting", "failed"} {
		m.reloads.WithLabelValues(result)
	}
	for _, task := range tasks() {
		m.taskPanics.WithLabelValues(task)
	}
	m.CountProblems(nil)
	m.countStale(nil)
}

// countStale sets gatefold_stale_objects. Each stage has its series, with the value 0 if no object is stale there.
func (m *Set) countStale(stale []store.Stale) {
	type labels struct {
		stage    store.Stage
		protects bool
	}
	count := map[labels]int{}
	for _, one := range stale {
		count[labels{one.Stage, one.Protects}]++
	}
	for _, stage := range store.Stages() {
		for _, protects := range []bool{true, false} {
			m.stale.WithLabelValues(string(stage), strconv.FormatBool(protects)).Set(float64(count[labels{stage, protects}]))
		}
	}
}

// FollowWaiting adds the metric of how many streams wait until their first request is read. The function count
// returns this number. It is called whenever metrics are read.
func (m *Set) FollowWaiting(count func() int64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatefold_xds_waiting", Help: "Streams of which nothing is read yet: before the first load, when many come at once, or as they say nothing.",
	}, func() float64 { return float64(count()) }))
}

// FollowTLS adds the metrics of the xDS certificate files. The function look returns the state of these files. It
// is called whenever metrics are read.
func (m *Set) FollowTLS(look func() mtls.State) {
	gauge := func(name, help string, value func(mtls.State) float64) {
		m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(look()) }))
	}
	gauge("gatefold_xds_tls_reload_successful", "1 when the xDS certificate files are served as they are now, else 0.",
		func(state mtls.State) float64 { return number(state.Problem == "") })
	gauge("gatefold_xds_tls_certificate_expiry_timestamp_seconds", "When the served xDS certificate ends, in Unix time.",
		func(state mtls.State) float64 { return float64(state.NotAfter.Unix()) })
}

// Connected counts an Envoy that connects. The parameter old is true if this Envoy is older than the version that
// gatefold is tested with.
func (m *Set) Connected(old bool) {
	m.streams.Inc()
	m.old.Add(number(old))
}

// Disconnected counts an Envoy that disconnects. The parameter old must have the same value as in the call of
// Connected for this Envoy.
func (m *Set) Disconnected(old bool) {
	m.streams.Dec()
	m.old.Sub(number(old))
}

// causes returns the causes for which connections and streams are refused or ended. "client" is a gRPC client in place
// of an Envoy, "connections" is the limit of
// open files, and "silent" a connection on which nothing was asked for. "request" is a message that cannot be read or is
// too large. A stream that asks for a "type" that is not served goes on.
func causes() []string {
	return []string{"client", "connections", "handshake", "identity", "limit", "request", "silent", "type", "version"}
}

// Refused counts a refused connection or stream. cause is one of causes.
func (m *Set) Refused(cause string) { m.refused.WithLabelValues(cause).Inc() }

// StreamPanicked counts a stream that ended because of a panic in gatefold.
func (m *Set) StreamPanicked() { m.panics.Inc() }

// TaskPanicked counts a background task that starts again after a panic.
func (m *Set) TaskPanicked(task string) { m.taskPanics.WithLabelValues(task).Inc() }

// Published sets the metrics of what is served. The function resources returns the number of resources of a type.
// The parameter stale has the stale objects, and certificates are those in use.
func (m *Set) Published(resources func(typ string) int, stale []store.Stale, certificates []ir.Certificate) {
	for _, typ := range delta.Types() {
		m.resources.WithLabelValues(xds.ShortType(typ)).Set(float64(resources(typ)))
	}
	if !store.SameStale(stale, m.counted) {
		m.countStale(stale)
		m.counted = stale
	}
	m.ends.set(certificates)
}

// SetDigest sets the number that stands for the served versions.
func (m *Set) SetDigest(live uint64) { m.live.Set(float64(live)) }

// Sent counts a response of a type with its bytes.
func (m *Set) Sent(typ string, bytes int) {
	m.pushes.WithLabelValues(xds.ShortType(typ)).Inc()
	m.bytes.WithLabelValues(xds.ShortType(typ)).Add(float64(bytes))
}

// Answered counts an Envoy's answer to the response r. The parameter nack is true for a rejection. If r is a test
// table (r.Probe), which every Envoy rejects, the answer counts neither as ACK nor as NACK.
func (m *Set) Answered(r *delta.Response, nack bool) {
	switch {
	case r.Probe:
		m.probes.Inc()
	case nack:
		m.nacks.WithLabelValues(xds.ShortType(r.Type)).Inc()
	default:
		m.acks.WithLabelValues(xds.ShortType(r.Type)).Inc()
	}
}

// Staged counts a decision on a revision of a fleet with canaries. The result is "promoted", "frozen", "forced"
// (a user promoted it) or "unjudged" (promoted because no canary was connected).
func (m *Set) Staged(result string) { m.staged.WithLabelValues(result).Inc() }

// SetFrozen sets the number of frozen fleets.
func (m *Set) SetFrozen(fleets int) { m.frozen.Set(float64(fleets)) }

// Reloaded counts a change of the folder by its result (server.Reload). The parameter ok is true if the current
// folder is served, and held is true if the folder is frozen. The map durations has the duration of each step, by
// name.
func (m *Set) Reloaded(result string, ok, held bool, durations map[string]time.Duration) {
	m.reloads.WithLabelValues(result).Inc()
	m.reloadOK.Set(number(ok))
	m.hold.Set(number(held))
	if ok {
		m.reloadTime.Set(float64(time.Now().UnixMilli()) / 1000)
	}
	for stage, took := range durations {
		m.stages.WithLabelValues(stage).Observe(took.Seconds())
	}
}

// number returns 1 for true, and 0 for false.
func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// tasks returns the names of the background tasks, which start again after a panic.
func tasks() []string {
	return []string{"certificates", "quarantine", "staging", "binds", "health", "status", "busy", "envoys", "issuers", "notifier", "watcher", envoyhost.SupervisorTask}
}
