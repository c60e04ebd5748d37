package server

import (
	"fmt"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// BenchmarkPublish is the pipeline's share alone: one changed table among 10,000
// clusters, 100 streams that are told of it.
func BenchmarkPublish(b *testing.B) {
	r := New(Options{}, zerolog.Nop())
	var clusters []xds.Update
	for i := range 10_000 {
		clusters = append(clusters, deltatest.Update(fmt.Sprintf("Cluster c%d@1", i)))
	}
	r.Publish(translate.Result{Delta: clusters})
	for range 100 {
		l := r.lift(b, &corev3.Node{Cluster: "shop/a"})
		if err := r.at(l.stream).handle(&delta.Request{TypeUrl: rds, ResourceNamesSubscribe: []string{delta.Wildcard}}); err != nil {
			b.Fatal(err)
		}
	}
	edits := [2]translate.Result{{Delta: deltatest.Updates("RouteConfiguration r@1")}, {Delta: deltatest.Updates("RouteConfiguration r@2")}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Publish(edits[i%2])
	}
}
