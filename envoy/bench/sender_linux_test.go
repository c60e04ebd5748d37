package bench

import (
	"fmt"
	"net"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate/xds"
)

// sender is the barest xDS server: it gives its one Envoy the bytes that it is told to,
// and has no opinion about them.
type sender struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	t       testing.TB
	address string
	pushes  chan *discoveryv3.DeltaDiscoveryResponse

	mu        sync.Mutex
	resources map[string]map[string][]byte // by type and name
	version   int
}

// newSender makes a sender that an Envoy can connect to.
func newSender(t testing.TB) *sender {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sender{
		t: t, address: listener.Addr().String(), pushes: make(chan *discoveryv3.DeltaDiscoveryResponse, 16),
		resources: map[string]map[string][]byte{},
	}
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s
}

// hold takes a resource for when the Envoy asks.
func (s *sender) hold(typ, name string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resources[typ] == nil {
		s.resources[typ] = map[string][]byte{}
	}
	s.resources[typ][name] = body
}

// push sends a resource that the Envoy has asked for before.
func (s *sender) push(typ, name string, body []byte) {
	s.hold(typ, name, body)
	s.pushes <- s.response(typ, name)
}

// response has the named resources, all where none is named.
func (s *sender) response(typ string, names ...string) *discoveryv3.DeltaDiscoveryResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	version := fmt.Sprint(s.version)
	if len(names) == 0 {
		for name := range s.resources[typ] {
			names = append(names, name)
		}
	}
	out := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typ, Nonce: version}
	for _, name := range names {
		out.Resources = append(out.Resources, &discoveryv3.Resource{
			Name: name, Version: version, Resource: &anypb.Any{TypeUrl: typ, Value: s.resources[typ][name]},
		})
	}
	return out
}

// DeltaAggregatedResources answers each subscription, and sends what is pushed.
func (s *sender) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	asked := make(chan *discoveryv3.DeltaDiscoveryRequest)
	go func() {
		defer close(asked)
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			if request.ErrorDetail != nil {
				s.t.Errorf("Envoy rejects: %s", request.ErrorDetail.Message)
			}
			if request.ResponseNonce == "" || len(request.ResourceNamesSubscribe) > 0 {
				asked <- request
			}
		}
	}()
	for {
		var next *discoveryv3.DeltaDiscoveryResponse
		select {
		case request, ok := <-asked:
			if !ok {
				return nil
			}
			if request.TypeUrl == xds.RouteType && len(request.ResourceNamesSubscribe) == 0 {
				continue
			}
			next = s.response(request.TypeUrl, request.ResourceNamesSubscribe...)
		case next = <-s.pushes:
		}
		if err := stream.Send(next); err != nil {
			return err
		}
	}
}
