package server_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkFanout is one edit of a table, from Publish to the last client's ACK.
// The server is a process of its own: CPU and memory are its own. The peak is of the edits.
func BenchmarkFanout(b *testing.B) {
	for _, streams := range []int{100, 1000} {
		for _, size := range []int{300_000, 5_000_000} {
			b.Run(fmt.Sprintf("streams=%d/table=%dKB", streams, size/1000), func(b *testing.B) {
				server := startFanout(b, "127.0.0.1:0")
				server.order(order{Table: size, Version: 1})
				alone := server.measure()
				clients := newFleet(b, server.address, 0)
				received := clients.received[rds]
				received.Add(streams)
				clients.join(streams, 0)
				received.Wait()
				before := server.measure()
				b.SetBytes(int64(streams * size))
				edits := 0
				for b.Loop() {
					received.Add(streams)
					server.order(order{Table: size, Version: edits + 2})
					received.Wait()
					edits++
				}
				after := server.peak()
				b.ReportMetric((after.CPU-before.CPU).Seconds()*1000/float64(edits), "cpu-ms/op")
				b.ReportMetric(float64(after.Peak)/(1<<20), "peak-MiB")
				b.ReportMetric(float64(before.Heap-alone.Heap)/float64(streams)/1024, "heap-KiB/stream")
				b.ReportMetric(float64(before.RSS-alone.RSS)/float64(streams)/1024, "rss-KiB/stream")
			})
		}
	}
}

// BenchmarkFanoutInWaves is BenchmarkFanout for a fleet of which ten are canaries: from Publish to the last ACK of the
// canaries, and on to the last ACK of the others.
func BenchmarkFanoutInWaves(b *testing.B) {
	const canaries = 10
	for _, streams := range []int{100, 1000} {
		for _, size := range []int{300_000, 5_000_000} {
			b.Run(fmt.Sprintf("streams=%d/table=%dKB", streams, size/1000), func(b *testing.B) {
				server := startFanout(b, "127.0.0.1:0")
				server.order(order{Table: size, Version: 1})
				alone := server.measure()
				first, others := newFleet(b, server.address, 0), newFleet(b, server.address, 0)
				first.canaries = true
				wait := func() (canariesAt time.Time) {
					first.received[rds].Wait()
					canariesAt = time.Now()
					others.received[rds].Wait()
					return canariesAt
				}
				expect := func() {
					first.received[rds].Add(canaries)
					others.received[rds].Add(streams - canaries)
				}
				expect()
				first.join(canaries, 0)
				others.join(streams-canaries, 0)
				wait()
				before := server.measure()
				b.SetBytes(int64(streams * size))
				edits, wave := 0, time.Duration(0)
				for b.Loop() {
					expect()
					began := time.Now()
					server.order(order{Table: size, Version: edits + 2})
					wave += wait().Sub(began)
					edits++
				}
				after := server.peak()
				b.ReportMetric(wave.Seconds()/float64(edits), "canaries-s/op")
				b.ReportMetric((after.CPU-before.CPU).Seconds()*1000/float64(edits), "cpu-ms/op")
				b.ReportMetric(float64(after.Peak)/(1<<20), "peak-MiB")
				b.ReportMetric(float64(before.RSS-alone.RSS)/float64(streams)/1024, "rss-KiB/stream")
			})
		}
	}
}

// BenchmarkHeld is the memory that a settled stream takes whose Envoy holds so many
// clusters and their endpoints. An operation is that all connect: first new ones, and
// then those that hold all from a server before this one, but for a table that changed.
// The latter connect before there is anything to serve, as after a restart.
func BenchmarkHeld(b *testing.B) {
	for _, streams := range []int{100, 1000} {
		for _, clusters := range []int{0, 1000, 10_000} {
			b.Run(fmt.Sprintf("streams=%d/clusters=%d", streams, clusters), func(b *testing.B) {
				for b.Loop() {
					benchmarkHeld(b, streams, clusters)
				}
			})
		}
	}
}

func benchmarkHeld(b *testing.B, streams, clusters int) {
	server := startFanout(b, "127.0.0.1:0")
	server.order(order{Clusters: clusters, Table: 1000, Version: 1})
	alone := server.measure()
	clients := newFleet(b, server.address, clusters)
	all := func(clusters int) {
		clients.received[cds].Add(streams * clusters)
		clients.received[eds].Add(streams * clusters)
		clients.received[lds].Add(streams * min(1, clusters))
		clients.received[rds].Add(streams)
	}
	wait := func() {
		for _, received := range clients.received {
			received.Wait()
		}
	}
	report := func(name string, began time.Time, before footprint) {
		peak, now := server.peak(), server.measure()
		b.ReportMetric(float64(peak.Peak)/(1<<20), name+"-peak-MiB")
		b.ReportMetric(time.Since(began).Seconds(), name+"-s")
		b.ReportMetric((peak.CPU - before.CPU).Seconds(), name+"-cpu-s")
		b.ReportMetric(float64(now.Heap-alone.Heap)/float64(streams)/1024, name+"-heap-KiB/stream")
		b.ReportMetric(float64(now.RSS-alone.RSS)/float64(streams)/1024, name+"-rss-KiB/stream")
	}
	began := time.Now()
	all(clusters)
	clients.join(streams, 0)
	wait()
	report("new", began, alone)
	clients.leave()
	server.end()

	server = startFanout(b, "127.0.0.1:0")
	alone, clients.address = server.measure(), server.address
	asked := make(chan struct{})
	go func() { clients.join(streams, 1); close(asked) }()
	select {
	case <-asked:
	case <-time.After(time.Second + time.Duration(streams*clusters/200_000)*time.Second): // nobody reads it all
	}
	clients.received[lds].Add(streams * min(1, clusters))
	clients.received[rds].Add(streams)
	before := server.peak()
	began = time.Now()
	b.ReportMetric(float64(before.Peak)/(1<<20), "waiting-peak-MiB")
	server.order(order{Clusters: clusters, Table: 1000, Version: 1, Edits: 1})
	wait()
	report("again", began, before)
	<-asked
	clients.leave()
}
