package server_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// beside returns the port of another Gateway on the same server.
func (p *shopPort) beside(gateway string) *shopPort {
	p.t.Helper()
	number := envoytest.FreePort(p.t)
	port := *p.port
	port.Name, port.Gateway, port.Port = gateway+"/http", gateway, uint32(number)
	port.Chains = []ir.Chain{{RouteConfig: gateway + "/http"}}
	return &shopPort{running: p.running, address: fmt.Sprintf("127.0.0.1:%d", number), port: &port, echo: p.echo}
}

// own returns updates to the port's Gateway.
func (p *shopPort) own(updates ...xds.Update) []xds.Update {
	for i := range updates {
		updates[i].Gateway = p.port.Gateway
	}
	return updates
}

// edit returns a table that answers /edit with this status.
func (p *shopPort) edit(status uint32) []xds.Update {
	return p.own(p.tableOf(exactly("edit", status)))
}

// alone waits until one stream serves the Gateway, a later one than before, and
// all of the newest is accepted there. It gives the stream's number.
func (p *shopPort) alone(before uint64) (id uint64) {
	p.t.Helper()
	p.until("a stream that is settled", func() bool {
		streams := p.audience(p.port.Gateway)
		if len(streams) != 1 || streams[0].ID <= before || !streams[0].settled() {
			return false
		}
		id = streams[0].ID
		return true
	})
	return id
}

// An Envoy that is frozen delays no other one. Its stream is ended, and once it
// thaws it is served the newest.
func TestAFrozenEnvoyDelaysNobody(t *testing.T) {
	t.Parallel() // it waits for pings, 40 seconds
	live := newShop(t, server.Options{})
	frozen := live.beside("shop/b")
	publish := func(status uint32) {
		live.Publish(translate.Result{Delta: append(live.edit(status), frozen.edit(status)...)})
	}
	publish(201)
	live.Publish(translate.Result{Delta: append(live.own(updateOf(xds.Listener(live.port)), updateOf(xds.RequirementFilter(nil))), frozen.own(updateOf(xds.Listener(frozen.port)), updateOf(xds.RequirementFilter(nil)))...)})
	envoytest.Start(t, envoytest.Options{XDSAddress: live.xds.String(), NodeCluster: "shop/a"})
	cold := envoytest.Start(t, envoytest.Options{XDSAddress: live.xds.String(), NodeCluster: "shop/b"})
	live.answers("/edit", 201)
	frozen.answers("/edit", 201)
	before := frozen.alone(0)

	signal := func(signal syscall.Signal) error { return syscall.Kill(cold.Pid(), signal) }
	t.Cleanup(func() { _ = signal(syscall.SIGCONT) }) // so that it can end
	if err := signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	status := uint32(201)
	for range 20 {
		status++
		publish(status)
		live.answers("/edit", int(status))
	}
	live.until("the frozen Envoy's stream is ended", func() bool { return len(live.audience("shop/b")) == 0 })
	status++
	publish(status)
	live.answers("/edit", int(status))

	if err := signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	frozen.alone(before)
	frozen.answers("/edit", int(status))
}

// A connection on which nothing arrives any more, and which nobody closes, is
// given up by both of its ends. Envoy serves meanwhile, and then the newest.
func TestABlackHoleIsLeft(t *testing.T) {
	t.Parallel() // it waits for pings, 40 seconds
	shop := newShop(t, server.Options{})
	cable := newCable(t, shop.xds.String())
	envoytest.Start(t, envoytest.Options{XDSAddress: cable.Addr().String(), NodeCluster: "shop/a"})
	shop.serve(ir.EDS)
	before := shop.alone(0)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 200, Targets: []envoytest.Target{{
		Name: "any", Request: envoytest.Request{Address: shop.address, Path: "/edit"},
		Check: func(r *envoytest.Response) error {
			if r.Status != 200 && r.Status != 201 {
				return fmt.Errorf("status %d", r.Status)
			}
			return nil
		}}}})
	cable.swallow()
	shop.Publish(translate.Result{Delta: shop.edit(201)})
	shop.alone(before)
	shop.answers("/edit", 201)
	if result := load.Stop(); result.Failed > 0 || result.Requests == 0 {
		t.Error(result)
	}
}

// A new Envoy accepts connections only when it can answer on all of them; and when all
// routes move to other clusters, it goes on to answer.
func TestManyClustersFailNoRequest(t *testing.T) {
	envoytest.Binary(t)
	const clusters, requests = 2000, 4000
	shop := newShop(t, server.Options{})
	shop.Publish(translate.Result{Delta: append(shop.crowd("old", clusters), updateOf(xds.Listener(shop.port)), updateOf(xds.RequirementFilter(nil)))})

	ended := make(chan []string, 1)
	go func() { ended <- fromTheFirst(t, shop.address, clusters, requests) }()
	envoytest.Start(t, envoytest.Options{XDSAddress: shop.xds.String(), NodeCluster: "shop/a"})
	if failed := <-ended; len(failed) > 0 {
		t.Errorf("%d requests failed, the first: %s", len(failed), failed[0])
	}

	// A new Envoy asks for clusters first by itself; one that runs takes what it is sent.
	var targets []envoytest.Target
	for i := range 10 {
		targets = append(targets, envoytest.Target{Name: "any", Request: envoytest.Request{Address: shop.address, Path: fmt.Sprint("/c", i*clusters/10)},
			Check: func(r *envoytest.Response) error {
				if r.Status != 200 {
					return fmt.Errorf("status %d", r.Status)
				}
				return nil
			}})
	}
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 500, Targets: targets})
	shop.Publish(translate.Result{Delta: shop.crowd("new", clusters)})
	shop.until("all is accepted", func() bool { return shop.quiet("shop/a") })
	if result := load.Stop(); result.Failed > 0 || result.Requests == 0 {
		t.Error(result)
	}
}

// crowd makes clusters, and the table that leads the path /cN to the Nth.
func (p *shopPort) crowd(prefix string, clusters int) (delta []xds.Update) {
	p.t.Helper()
	var routes [][]byte
	for i := range clusters {
		name := fmt.Sprint(prefix, i)
		delta = append(delta, p.cluster(name, ir.EDS)...)
		route, problems := xds.Route(&ir.Rule{
			Name: name, Match: ir.Match{Path: ir.Path{Kind: ir.PathExact, Value: fmt.Sprint("/c", i)}},
			Action: ir.Action{Forward: &ir.Forward{Backends: []ir.Backend{{Cluster: name, Weight: 1}}}},
		})
		if len(problems) > 0 {
			p.t.Fatal(problems)
		}
		routes = append(routes, route)
	}
	table := xds.RouteConfiguration(p.port.Chains[0].RouteConfig, []xds.Host{xds.VirtualHost("*", nil, routes)})
	return append(delta, updateOf(table))
}

// fromTheFirst sends requests to every cluster in turn, from the first connection
// on that is accepted, and tells which failed.
func fromTheFirst(t *testing.T, address string, clusters, requests int) (failed []string) {
	const enough = 20 // failures
	for sent := 0; sent < requests && len(failed) < enough; {
		path := fmt.Sprint("/c", sent%clusters)
		response, err := envoytest.Try(envoytest.Request{Address: address, Path: path})
		if sent == 0 && errors.Is(err, syscall.ECONNREFUSED) {
			if t.Context().Err() != nil {
				return []string{"none was accepted"}
			}
			time.Sleep(time.Millisecond)
			continue
		}
		if err == nil && response.Status != 200 {
			err = fmt.Errorf("status %d: %s", response.Status, response.Body)
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("request %d, %s: %v", sent, path, err))
		}
		sent++
	}
	return failed
}
