package server

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
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
		{"a long list", "limit", "names that the Gateway does not have", world(&discoveryv3.DiscoveryRequest{TypeUrl: rds, ResourceNames: namesFrom(0, maxStrangers+1)})},
		{"a longer list", "request", "larger than max", world(&discoveryv3.DiscoveryRequest{TypeUrl: rds, ResourceNames: []string{strings.Repeat("x", 65<<20)}})},
		{"a request of no type", "request", "no type_url", world(&discoveryv3.DiscoveryRequest{})},
		{"a gRPC client", "client", "gRPC Go 1.85.0 is a gRPC client, and no Envoy", func(r *running) {
			c := r.open("")
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: lds, Node: &corev3.Node{
				Cluster: "shop/a", UserAgentName: "gRPC Go", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1.85.0"},
			}})
		}},
		{"a long node.cluster", "request", "node.cluster is longer", func(r *running) {
			c := r.open(strings.Repeat("x", maxCluster+1))
			c.ask(cds)
		}},
	} {
		t.Run(client.name, func(t *testing.T) {
			log := &lines{}
			r := startLogged(t, Options{ConnectionTime: 200 * time.Millisecond}, zerolog.New(log))
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
