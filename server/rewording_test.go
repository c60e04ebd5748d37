package server_test

import (
	"context"
	"net"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// ownLimit is what Envoy says if an expression is too large for the limit that it is configured with; otherLimit is what
// rewording makes of it.
const ownLimit, otherLimit = "max program size", "largest program size"

// rewordingServer passes the incremental protocol and load reports on between Envoys and gatefold.
type rewordingServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	lrsv3.UnimplementedLoadReportingServiceServer
	gatefold *grpc.ClientConn
}

// rewording starts a server for Envoys that passes everything on to gatefold at the address to, but for ownLimit, which
// becomes otherLimit. It returns the address of the server.
func rewording(t *testing.T, to string) (address string) {
	t.Helper()
	const most = 64 << 20 // bytes of a message
	conn, err := grpc.NewClient(to, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most)))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, s := grpc.NewServer(grpc.MaxRecvMsgSize(most)), &rewordingServer{gatefold: conn}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, s)
	lrsv3.RegisterLoadReportingServiceServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(func() { g.Stop(); _ = conn.Close() })
	return listener.Addr().String()
}

// DeltaAggregatedResources passes a stream on.
func (s *rewordingServer) DeltaAggregatedResources(envoy discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return passOn(envoy.Context(), func(ctx context.Context) (up, down func() error, err error) {
		gatefold, err := discoveryv3.NewAggregatedDiscoveryServiceClient(s.gatefold).DeltaAggregatedResources(ctx)
		reword := func(request *discoveryv3.DeltaDiscoveryRequest) error {
			if request.ErrorDetail != nil {
				request.ErrorDetail.Message = strings.ReplaceAll(request.ErrorDetail.Message, ownLimit, otherLimit)
			}
			return gatefold.Send(request)
		}
		return pass(envoy.Recv, reword), pass(gatefold.Recv, envoy.Send), err
	})
}

// StreamLoadStats passes a stream on.
func (s *rewordingServer) StreamLoadStats(envoy lrsv3.LoadReportingService_StreamLoadStatsServer) error {
	return passOn(envoy.Context(), func(ctx context.Context) (up, down func() error, err error) {
		gatefold, err := lrsv3.NewLoadReportingServiceClient(s.gatefold).StreamLoadStats(ctx)
		return pass(envoy.Recv, gatefold.Send), pass(gatefold.Recv, envoy.Send), err
	})
}

// passOn opens the stream to gatefold, and passes messages on in both directions until one of them ends.
func passOn(ctx context.Context, open func(ctx context.Context) (up, down func() error, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up, down, err := open(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- up() }()
	go func() { ended <- down() }()
	return <-ended
}

// pass returns a function that sends what is received, until either fails.
func pass[M any](receive func() (M, error), send func(M) error) func() error {
	return func() error {
		for {
			message, err := receive()
			if err != nil {
				return err
			}
			if err := send(message); err != nil {
				return err
			}
		}
	}
}
