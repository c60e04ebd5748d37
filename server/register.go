package server

import "github.com/prometheus/client_golang/prometheus"

// Register adds metrics of other parts of the program to /metrics. It panics if a name is
// taken.
func (s *Server) Register(figures ...prometheus.Collector) {
	s.metrics.registry.MustRegister(figures...)
}
