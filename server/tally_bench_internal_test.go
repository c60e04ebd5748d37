package server

import (
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
)

// BenchmarkStreamsEdit is one edit of a small table for so many streams, of one Gateway
// or of all, to the last answer; gRPC is not in it.
func BenchmarkStreamsEdit(b *testing.B) {
	for _, cluster := range []string{"shop/a", "all"} {
		for _, streams := range []int{100, 1000, 4000} {
			b.Run(fmt.Sprintf("cluster=%s/streams=%d", cluster, streams), func(b *testing.B) {
				r := New(Options{}, zerolog.Nop())
				r.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1", "Listener http@1", "RouteConfiguration r@1")})
				lines := make([]*line, streams)
				for i := range lines {
					lines[i] = r.dial(b, cluster, "r")
				}
				begin := cpuTime(b)
				for i := 0; b.Loop(); i++ {
					r.Publish(translate.Result{Delta: deltatest.Updates(fmt.Sprintf("RouteConfiguration r@%d", i+2))})
					for _, l := range lines {
						l.turn(b)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/float64(b.N*streams), "cpu-ns/stream")
			})
		}
	}
}
