package server

import "github.com/prometheus/client_golang/prometheus"

// Register adds figures of other parts of the program to /metrics. It panics
// when a name is taken: that is a mistake of ours.
func (s *Server) Register(figures ...prometheus.Collector) {
	s.metrics.registry.MustRegister(figures...)
}
