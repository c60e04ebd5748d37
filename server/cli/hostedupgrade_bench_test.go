package cli

import (
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// What an upgrade of Envoy costs its clients: 1,000 requests a second, a quarter of them on a fresh
// connection, and 100 open streams. BENCHMARKS.md has the command and what it prints.
func BenchmarkEnvoyUpgrade(b *testing.B) {
	const drain, streams = 10 * time.Second, 100
	for name, lines := range map[string]string{
		"hot restart":     "",
		"drain and start": `case "$*" in *--hot-restart-version*) echo 12.104; exit;; esac`,
	} {
		b.Run(name, func(b *testing.B) {
			m := newMachine(b, "one", "two")
			good := m.binary
			m.start("--envoy-keep", "--envoy-drain", drain.String())
			m.waitFor("one", "a")
			m.waitFor("two", "a")
			requests, failed, broken := 0, 0, 0
			for b.Loop() {
				open := m.streams(streams)
				load := envoytest.StartLoad(b, envoytest.LoadOptions{Targets: []envoytest.Target{m.target("one", "a"), m.target("two", "a")}})
				old := m.pid()
				m.stop(syscall.SIGTERM)
				m.binary = wrapped(b, good, lines)
				m.start("--envoy-keep", "--envoy-drain", drain.String())
				m.logs("Envoy is to be started in another way")
				time.Sleep(drain * 9 / 10)
				for _, s := range open {
					if s.broken.Load() != nil {
						broken++
					}
				}
				m.shows("default/eg", "running")
				for m.pid() == old {
					time.Sleep(drain / 100)
				}
				result := load.Stop()
				requests, failed = requests+result.Requests, failed+result.Failed
			}
			b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
			b.ReportMetric(float64(failed)/float64(b.N), "failed/op")
			b.ReportMetric(float64(broken)/float64(b.N), "broken/op")
		})
	}
}
