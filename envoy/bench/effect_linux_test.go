package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/xds"
)

// measureEffect takes the time from the rename of a file to the first answer by the new
// route, against the time from the sending of the very bytes that came of it, by a bare
// sender to an Envoy of its own.
func measureEffect(t *testing.T, r *run) {
	s := shape{Routes: r.effectRoutes, Hosts: 1, Redirect: true}
	g := startedOn(t, s)
	address := g.address
	envoytest.Start(t, envoytest.Options{XDSAddress: g.xds, NodeCluster: "default/eg"}).WaitListener(address + ":10000")

	bare, other := newSender(t), envoytest.LoopbackAddress()
	g.client.copyTo(bare, other)
	envoytest.Start(t, envoytest.Options{XDSAddress: bare.address}).WaitListener(other + ":10000")

	prober := envoytest.NewClient()
	defer prober.Close()
	var ours, theirs []time.Duration
	for i := range r.editCount {
		route, revision := (i*7919+s.Routes/2)%s.Routes, 30_000_000+i
		text, marker := s.route(route, revision), fmt.Sprint(revision)
		probe := func(address string) time.Time {
			return until(t, prober, envoytest.Request{Address: address + ":10000", Host: s.host(route), Path: s.path(route)}, marker)
		}
		began := g.edit(s.file(route), text).Add(quiet)
		ours = append(ours, probe(address).Sub(began))
		table := g.client.next(marker)
		g.rest()
		began = time.Now()
		bare.push(xds.RouteType, table.response.Resources[0].Name, table.table())
		theirs = append(theirs, probe(other).Sub(began))
		time.Sleep(5 * afterwards) // the worker frees the table of before
	}
	r.table.add(row{
		Part: "effect", Case: s.String(), Measure: "rename to answer, median, ms", Value: median(ours), Base: median(theirs),
		Against: "bare sender", MaxRatio: 1.3,
	})
}

// until asks until the answer has the marker, and gives the moment of that answer.
func until(t *testing.T, prober *envoytest.Client, request envoytest.Request, marker string) time.Time {
	t.Helper()
	const pause = 200 * time.Microsecond // Envoy shall have time for other things
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(pause) {
		response, err := prober.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(response.Headers.Get("Location"), marker) {
			return time.Now()
		}
	}
	t.Fatalf("%s did not take effect within %v", marker, patience)
	return time.Time{}
}

// copyTo gives a sender all that the client has, for an Envoy that listens elsewhere.
func (c *client) copyTo(to *sender, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for typ, resources := range c.held {
		for name, body := range resources {
			if typ == xds.ListenerType {
				listener := &listenerv3.Listener{}
				envoytest.Decode(c.t, body, listener)
				listener.GetAddress().GetSocketAddress().Address = address
				body = mustMarshal(listener)
			}
			to.hold(typ, name, body)
		}
	}
}
