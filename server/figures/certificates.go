package figures

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatefold/gatefold/translate/ir"
)

// certificateEnds is the metric of when the certificates in use expire. It is computed when metrics are read,
// not after every edit.
type certificateEnds struct {
	desc *prometheus.Desc
	all  atomic.Pointer[[]ir.Certificate]
}

// newCertificateEnds returns a certificateEnds that has no certificates yet.
func newCertificateEnds() *certificateEnds {
	return &certificateEnds{desc: prometheus.NewDesc("gatefold_certificate_expiry_timestamp_seconds",
		"When a certificate of a listener ends, in Unix time.", []string{"secret"}, nil)}
}

// set stores the certificates in use.
func (e *certificateEnds) set(all []ir.Certificate) { e.all.Store(&all) }

// Describe implements prometheus.Collector.
func (e *certificateEnds) Describe(to chan<- *prometheus.Desc) { to <- e.desc }

// Collect implements prometheus.Collector.
func (e *certificateEnds) Collect(to chan<- prometheus.Metric) {
	all := e.all.Load()
	if all == nil {
		return
	}
	for _, c := range *all {
		to <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(c.NotAfter.Unix()), c.Secret.Namespace+"/"+c.Secret.Name)
	}
}
