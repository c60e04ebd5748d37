package cli

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// picky is a client of xDS that takes no route to /bad. An Envoy cannot be had that
// rejects, of what passes gatefold's checks, more than its own limits.
type picky struct {
	stream   discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	accepted atomic.Pointer[routev3.RouteConfiguration]
	rejected atomic.Int32
	leave    func()
}

// startPicky connects one until the test ends.
func startPicky(s *served, node string) *picky {
	s.t.Helper()
	return startPickyAs(s, &corev3.Node{Id: node, Cluster: "default/eg", UserAgentName: "envoy"})
}

// startPickyAs is startPicky with all that the client says of itself.
func startPickyAs(s *served, node *corev3.Node) *picky {
	s.t.Helper()
	connection, err := grpc.NewClient(s.xds, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close() }) // the test is over
	ctx, leave := context.WithCancel(s.t.Context())
	p := &picky{leave: leave}
	p.stream, err = discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx, grpc.WaitForReady(true))
	if err != nil {
		s.t.Fatal(err)
	}
	_, port, _ := strings.Cut(s.address, ":")
	for _, request := range []*discoveryv3.DeltaDiscoveryRequest{
		{Node: node, TypeUrl: xds.ClusterType},
		{TypeUrl: xds.ListenerType},
		{TypeUrl: xds.RouteType, ResourceNamesSubscribe: []string{ir.TableName("default/eg/http-"+port, ir.FilterGeneration)}},
	} {
		if err := p.stream.Send(request); err != nil {
			s.t.Fatal(err)
		}
	}
	go p.run()
	return p
}

func (p *picky) run() {
	for {
		response, err := p.stream.Recv()
		if err != nil {
			return // the test is over
		}
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce}
		if response.TypeUrl == xds.RouteType {
			if words := p.judge(response.Resources); words != "" {
				answer.ErrorDetail = status.New(codes.InvalidArgument, words).Proto()
			}
		}
		_ = p.stream.Send(answer)
	}
}

// judge reads tables from their beginning, as an Envoy does, and tells of the first fault.
func (p *picky) judge(resources []*discoveryv3.Resource) string {
	for _, resource := range resources {
		table := &routev3.RouteConfiguration{}
		if err := proto.Unmarshal(resource.Resource.Value, table); err != nil {
			return err.Error()
		}
		for _, host := range table.VirtualHosts {
			for _, r := range host.Routes {
				switch regex := r.GetMatch().GetSafeRegex().GetRegex(); {
				case regex != "": // none of the folder's: a probe's
					return "missing ): " + regex
				case r.GetMatch().GetPathSeparatedPrefix() == "/bad" && r.GetDirectResponse().GetStatus() != 500:
					p.rejected.Add(1)
					return "nobody likes /bad"
				}
			}
		}
		p.accepted.Store(table)
	}
	return ""
}

// holds waits until the table that the client accepted has, or has not, some words.
func (p *picky) holds(t testing.TB, words string, want bool) {
	t.Helper()
	envoytest.Wait(t, fmt.Sprintf("a table with %q: %t", words, want), func() error {
		if table := p.accepted.Load(); table == nil || strings.Contains(table.String(), words) != want {
			return fmt.Errorf("the table is %s", table)
		}
		return nil
	})
}

// What every Envoy rejects flows back: its object's status says so, each is served the table
// without it, one that comes later is asked itself, and a change of the object is enough.
func TestWhatAnEnvoyRejectsFlowsBack(t *testing.T) {
	r := newRestarted(t, "fine", "bad")
	r.start()
	admin := client{address: r.admin, timeout: patience}
	first := startPicky(r.served, "edge-1")
	said := func(want bool) {
		t.Helper()
		envoytest.Wait(t, "the status of the route", func() error {
			_, body, err := admin.get(t.Context(), "/api/v1/status/HTTPRoute/default/bad")
			if err == nil && strings.Contains(string(body), "nobody likes /bad") != want {
				err = fmt.Errorf("it is %s", body)
			}
			return err
		})
	}
	said(true)
	first.holds(t, "/fine", true)
	second := startPicky(r.served, "edge-2")
	second.holds(t, "/fine", true)
	said(true)
	if first.rejected.Load() == 0 || second.rejected.Load() == 0 {
		t.Errorf("the first rejected %d, the second %d; want some of both", first.rejected.Load(), second.rejected.Load())
	}
	r.write("bad.yaml", strings.Replace(r.route("bad", "a"), "/bad", "/mended", 1))
	first.holds(t, "/mended", true)
	said(false)
}
