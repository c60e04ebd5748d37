package server_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
)

// Each way in which a bound of xDS ends a client, or does not serve it, leaves one line in the log, a row on the page,
// and moves the metric of its cause, however often the client comes again. An honest Envoy is served meanwhile.
func TestClientsThatABoundEndsAreNamed(t *testing.T) {
	world := func(requests ...*discoveryv3.DiscoveryRequest) func(*running) {
		return func(r *running) {
			c := r.world()
			requests[0].Node = &corev3.Node{Id: "bad", Cluster: "shop/a"}
			for _, request := range requests {
				if c.stream.Send(request) != nil {
					return // the stream is ended
				}
			}
		}
	}
	for _, client := range []struct {
		name, cause, words string
		comes              func(*running)
	}{
		{"a silent connection", "silent", "it asked for nothing in time", func(r *running) {
			c, err := net.Dial("tcp", r.xds.String())
			if err != nil {
				r.t.Fatal(err)
			}
			defer c.Close()
			buffer := make([]byte, 1024)
			for err == nil { // until it is closed
				_, err = c.Read(buffer)
			}
		}},
		{"a type that is not served", "type", "asks for the type envoy.Strange, which", world(
			&discoveryv3.DiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.Strange"}, &discoveryv3.DiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.Stranger"})},
		{"a long list", "limit", "names that the Gateway does not have", world(&discoveryv3.DiscoveryRequest{TypeUrl: rds, ResourceNames: namesFrom(0, strangers+1)})},
		{"a longer list", "request", "larger than max", world(&discoveryv3.DiscoveryRequest{TypeUrl: rds, ResourceNames: []string{strings.Repeat("x", 65<<20)}})},
		{"a request of no type", "request", "no type_url", world(&discoveryv3.DiscoveryRequest{})},
		{"a gRPC client", "client", "gRPC Go 1.85.0 is a gRPC client, and no Envoy", func(r *running) {
			c := r.open("")
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: lds, Node: &corev3.Node{
				Cluster: "shop/a", UserAgentName: "gRPC Go", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1.85.0"},
			}})
		}},
		{"a long node.cluster", "request", "node.cluster is longer", func(r *running) {
			c := r.open(strings.Repeat("x", 513))
			c.ask(cds)
		}},
	} {
		t.Run(client.name, func(t *testing.T) {
			log := &lines{}
			r := startLogged(t, server.Options{ConnectionTime: 200 * time.Millisecond}, zerolog.New(log))
			r.publish("Cluster web@1")
			honest := r.connect("shop/a")
			honest.ask(cds)
			honest.take("Cluster web@1")
			for n := 1; n <= 2; n++ {
				client.comes(r)
				envoytest.Wait(t, "the metric", func() error {
					if want := fmt.Sprintf("gatefold_xds_refused_total{cause=%q} %d\n", client.cause, n); !strings.Contains(r.get(t, "/metrics"), want) {
						return fmt.Errorf("not %s", want)
					}
					return nil
				})
			}
			if n := log.with(`"level":"warn"`, client.words); n != 1 {
				t.Errorf("%d lines", n)
			}
			if page := r.get(t, "/api/v1/transport"); !strings.Contains(page, client.words) {
				t.Errorf("the page of those who are refused: %s", page)
			}
			r.publish("Cluster web@2")
			honest.take("Cluster web@2")
		})
	}
}

// strangers is how many names that its Gateway does not have a stream may ask for.
const strangers = 100_000

// namesFrom returns n names of tables that no Gateway has.
func namesFrom(first, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("none/%07d", first+i)
	}
	return names
}

// A client over a limit is ended, by gRPC's code, and named in the log, on the page of those
// who are refused and in the metric. An Envoy beside it is served on.
func TestAClientOverALimitIsNamed(t *testing.T) {
	log := &lines{}
	r := startLogged(t, server.Options{}, zerolog.New(log))
	r.publish("Cluster web@1")
	honest := r.connect("shop/a")
	honest.ask(cds)
	honest.take("Cluster web@1")
	c := r.connect("shop/a")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: rds, ResourceNamesSubscribe: namesFrom(0, 2*strangers)})
	var err error
	select {
	case err = <-c.failed:
	case <-time.After(patience):
		err = errors.New("it is not ended")
	}
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "names that the Gateway does not have") {
		t.Errorf("got %v, want ResourceExhausted", err)
	}
	if log.with(`"level":"warn"`, `"node":"test"`, "more than 100000 names") != 1 {
		t.Error("the log does not name the client")
	}
	r.publish("Cluster web@2")
	honest.take("Cluster web@2")
	if page := r.get(t, "/api/v1/transport"); !strings.Contains(page, "more than 100000 names") {
		t.Errorf("the page of those who are refused: %s", page)
	}
	if figures := r.get(t, "/metrics"); !strings.Contains(figures, `gatefold_xds_refused_total{cause="limit"} 1`) {
		t.Error("the metric does not count it")
	}
}
