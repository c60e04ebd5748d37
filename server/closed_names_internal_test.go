package server

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// What waits to be closed does not grow with the number of requests, and ends with the subscription, though nothing is sent.
func TestNamesThatWaitToBeClosedAreBounded(t *testing.T) {
	s := New(Options{BarrierWait: time.Hour}, zerolog.Nop())
	l := s.dial(t, "shop/a") // a Gateway of which nothing is known
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("shop/a/https-443/%06d.test/filters-2", i)
	}
	send := func(request *delta.Request) (waiting int) {
		t.Helper()
		if err := s.at(l.stream).handle(request); err != nil {
			t.Fatal(err)
		}
		return l.Progress()[rds].Removing
	}
	for range 10 {
		if n := send(&delta.Request{TypeUrl: rds, ResourceNamesSubscribe: names}); n != len(names) {
			t.Fatalf("%d names wait, want %d", n, len(names))
		}
	}
	if n := send(&delta.Request{TypeUrl: rds, ResourceNamesUnsubscribe: names}); n != 0 {
		t.Errorf("%d names wait that nobody requests", n)
	}
}

// A client that requests as many names as it may, all of which are answered with closed tables, costs a bounded amount
// of memory.
func TestClosedTablesAreBounded(t *testing.T) {
	s := New(Options{BarrierWait: time.Hour}, zerolog.Nop())
	s.Publish(translate.Result{Delta: append(deltatest.Updates("Cluster web@1"), closedListener())})
	begin := liveHeap()
	l := s.dial(t, "shop/a")
	names := make([]string, maxStrangers-1)
	for i := range names {
		names[i] = fmt.Sprintf("shop/a/https-443/%06d.test/filters-2", i)
	}
	if err := s.at(l.stream).handle(&delta.Request{TypeUrl: rds, ResourceNamesSubscribe: names}); err != nil {
		t.Fatal(err)
	}
	envoytest.Wait(t, "all to be closed", func() (err error) {
		l.turn(t)
		s.locked(func() {
			if closed := l.Progress()[rds].Accepted; closed < len(names) {
				err = fmt.Errorf("%d are", closed)
			}
		})
		return err
	})
	if grown := liveHeap() - begin; grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	runtime.KeepAlive(l)
}

// closedListener is a listener of Gateway shop/a on port 443, for the hostname a.test.
func closedListener() xds.Update {
	port := &ir.Port{Name: "shop/a/https-443", Gateway: "shop/a", Addresses: []string{"192.0.2.1"}, Port: 443}
	port.Chains = []ir.Chain{{Name: "a.test", RouteConfig: "shop/a/https-443/a.test/filters-2", TLS: &ir.TLS{Certificates: []string{"c"}}}}
	r := xds.Listener(port)
	return xds.Update{Gateway: "shop/a", Type: lds, Name: r.Name, Resource: &r}
}
