package server_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

const inUse = "Error adding/updating listener(s) http: cannot bind '127.0.0.1:80': Address already in use"

// A listener whose bind failed is sent again, alone, until Envoy takes it, and
// stays rejected meanwhile; one with another fault is not.
func TestAListenerWhoseBindFailedIsSentAgain(t *testing.T) {
	r := start(t, server.Options{BindRetry: time.Millisecond})
	r.publish("Listener bad@1", "Listener http@1")
	c := r.connect("shop/a")
	c.ask(cds)
	c.ask(lds)
	c.ack(c.want("Cluster"))
	c.nack(c.want("Listener bad@1 http@1"), inUse+", bad: no")
	c.nack(c.want("Listener bad@1"), "Error adding/updating listener(s) bad: no") // now it is clear whose words are whose
	for range 3 {
		response := c.want("Listener http@1")
		r.until("it stays rejected", func() bool { return len(r.audience("shop/a")[0].rejected()) == 2 })
		c.nack(response, inUse)
	}
	c.take("Listener http@1")
	r.until("one rejection is left", func() bool { return len(r.audience("shop/a")[0].rejected()) == 1 })
	c.barrier(r, "Cluster x@1") // nothing more
}

// An address that one listener leaves and another takes may be asked for too early:
// Envoy takes the listeners of a response one after the other.
func TestAListenerWhoseAddressIsStillAnothersIsSentAgain(t *testing.T) {
	r := start(t, server.Options{BindRetry: time.Millisecond})
	r.publish("Listener a@1", "Listener b@1")
	c := r.connect("shop/a")
	c.ask(lds)
	c.take("Listener a@1 b@1")
	r.publish("Listener a@2", "Listener b@2")
	c.nack(c.want("Listener a@2 b@2"), "Error adding/updating listener(s) a: error adding listener: 'a' has duplicate address '127.0.0.1:80' as existing listener")
	c.take("Listener b@2")
	c.take("Listener a@2")
	r.until("no rejection", func() bool { return len(r.audience("shop/a")[0].rejected()) == 0 })
}

// The same with a real Envoy, in a case that is no one's neighbour: the tests that go
// from any folder to any other count rejections.
func TestAnAddressMovesFromOneGatewayToAnother(t *testing.T) {
	moves, err := cases.Load("testdata")
	if err != nil || len(moves) != 1 {
		t.Fatal(len(moves), err)
	}
	run := startCase(t, moves[0])
	run.moves = true
	for _, step := range moves[0].Steps {
		run.apply(step)
		for _, request := range step.Requests {
			run.send(step.Prefix, request)
		}
	}
}

// An edit takes the place of what was to be sent again.
func TestAnEditOfAListenerWhoseBindFailedIsSentAtOnce(t *testing.T) {
	r := start(t, server.Options{BindRetry: time.Hour})
	r.publish("Listener http@1")
	c := r.connect("shop/a")
	c.ask(lds)
	c.nack(c.want("Listener http@1"), inUse)
	r.until("the rejection", func() bool { return len(r.audience("shop/a")[0].rejected()) == 1 })
	r.publish("Listener http@2")
	c.take("Listener http@2")
	r.until("no rejection", func() bool { return len(r.audience("shop/a")[0].rejected()) == 0 })
}

// A real Envoy finds its port occupied; when the port is free, the Gateway is
// programmed without any edit.
func TestEnvoyBindsAPortThatBecomesFree(t *testing.T) {
	r := start(t, server.Options{BindRetry: 50 * time.Millisecond})
	var occupied net.Listener
	envoytest.Wait(t, "a port to occupy", func() (err error) {
		occupied, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", envoytest.FreePort(t)))
		return err
	})
	t.Cleanup(func() { _ = occupied.Close() })
	number := occupied.Addr().(*net.TCPAddr).Port
	shop := &shopPort{
		running: r, address: occupied.Addr().String(),
		port: &ir.Port{
			Name: "shop/a/http", Gateway: "shop/a", Addresses: []string{"127.0.0.1"},
			Port: uint32(number), Chains: []ir.Chain{{RouteConfig: "shop/a/http"}},
		},
		echo: ir.Endpoint{Host: "127.0.0.1", Port: uint32(envoytest.Echo(t, "echo", "").Port())},
	}
	first := shop.first(ir.Static)
	shop.Publish(translate.Result{Delta: first.Delta, Status: []status.Update{deltatest.PendingGateway("shop/a", 1)}})
	envoytest.Start(t, envoytest.Options{XDSAddress: r.xds.String(), NodeCluster: "shop/a"})
	shop.until("Envoy cannot bind", func() bool {
		return strings.Contains(shop.programmedOf("shop/a", "http").Message, "cannot bind")
	})
	messages := map[string]string{
		"":     "1 of 2 listeners cannot be bound: http",
		"http": fmt.Sprintf("port %d is in use by another program (Envoy %q cannot bind %s: Address already in use); free it or change spec.listeners[0].port; gatefold tries again", number, t.Name(), occupied.Addr()),
	}
	for part, want := range map[string]string{"": "False/AddressNotUsable", "http": "False/PortUnavailable", "other": "True/Programmed"} {
		c := shop.programmedOf("shop/a", part)
		if got := string(c.Status) + "/" + c.Reason; got != want || !strings.Contains(c.Message, messages[part]) {
			t.Errorf("Programmed of %q is %s, %q; want %s", part, got, c.Message, want)
		}
	}
	if err := occupied.Close(); err != nil {
		t.Fatal(err)
	}
	shop.judged("True")
	shop.waitOK()
}
