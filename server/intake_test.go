package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/server"
)

// waits waits until so many streams have nothing read of them.
func (r *running) waits(n int) {
	r.t.Helper()
	want := fmt.Sprintf("\ngatefold_xds_waiting %d\n", n)
	for deadline := time.Now().Add(patience); !strings.Contains(r.get(r.t, "/metrics"), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("not %d streams wait", n)
		}
	}
}

// Streams that say nothing keep others from being served for a moment only.
func TestStreamsThatSayNothingDelayNobody(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1")
	const silent = 48 // three times as many as are at their first request at a time
	for range silent {
		r.open("shop/a")
	}
	r.waits(silent)
	c := r.connect("shop/a")
	c.ask(cds)
	c.take("Cluster web@1")
}

// Envoys that come before anything is loaded are told of where one looks for the reason.
func TestWhoWaitsForTheFirstLoadIsToldOf(t *testing.T) {
	r := start(t, server.Options{})
	pages := func() string {
		_, ready := r.page(t, "GET", "/readyz", "")
		return ready + r.get(t, "/api/v1/problems")
	}
	if said := pages(); strings.Count(said, "nothing has been loaded yet\"") != 2 {
		t.Errorf("before any Envoy: %s", said)
	}
	r.open("shop/a")
	r.waits(1)
	if said := pages(); strings.Count(said, "nothing has been loaded yet; Envoys that wait for it: 1\"") != 2 {
		t.Errorf("while one waits: %s", said)
	}
	r.publish("Cluster web@1")
	if said := pages(); strings.Contains(said, "loaded") {
		t.Errorf("afterwards: %s", said)
	}
}

// Envoys that come back at once, before there is anything to serve, take memory in turn.
func TestEnvoysThatComeBackTakeMemoryInTurn(t *testing.T) {
	const streams, clusters = 64, 10_000
	server := startFanout(t, "127.0.0.1:0")
	clients := newFleet(t, server.address, clusters)
	joined := make(chan struct{})
	go func() { clients.join(streams, 1); close(joined) }()
	clients.received[lds].Add(streams)
	clients.received[rds].Add(streams)
	server.awaitWaiting(streams)
	server.order(order{Clusters: clusters, Table: 1000, Version: 1, Edits: 1})
	<-joined
	clients.received[lds].Wait()
	clients.received[rds].Wait()
	after := server.measure()
	if most := 260 << 20; after.HeapMost > most { // usually 180 to 200, and without turns more than 300
		t.Errorf("the heap of %d streams grew to %d MiB, of at most %d", streams, after.HeapMost>>20, most>>20)
	}
	clients.leave()
}

// awaitWaiting waits until n streams have nothing read of them.
func (f *fanout) awaitWaiting(n int) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d streams to wait", n), func() bool { return f.figure("gatefold_xds_waiting") >= n })
}
