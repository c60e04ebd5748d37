package pods

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	pb "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
)

// grpcEcho answers Echo and EchoTwo with a description of the call. EchoThree is not implemented, because the
// suite expects that.
type grpcEcho struct {
	pb.UnimplementedGrpcEchoServer
	container *container
}

// serveGRPC replaces the image echo-basic in a pod that sets the variable GRPC_ECHO_SERVER. It serves gRPC without
// TLS. If the environment names a certificate, it also serves gRPC with TLS on another port.
func serveGRPC(c *container) error {
	if err := serveGRPCOn(c, c.variable("HTTP_PORT", "3000")); err != nil {
		return err
	}
	secure := c.tls("TLS_SERVER_PRIV_KEY", "h2")
	if secure == nil {
		return nil
	}
	return serveGRPCOn(c, c.variable("HTTPS_PORT", "8443"), grpc.Creds(credentials.NewTLS(secure)))
}

// serveGRPCOn starts the gRPC server on a port. It returns an error if the port is not available.
func serveGRPCOn(c *container, port string, options ...grpc.ServerOption) error {
	bound, err := c.listen(port)
	if err != nil {
		return err
	}
	server := grpc.NewServer(options...)
	pb.RegisterGrpcEchoServer(server, &grpcEcho{container: c})
	c.serve(func() error {
		defer server.Stop()
		return server.Serve(bound)
	})
	return nil
}

// Echo implements pb.GrpcEchoServer.
func (e *grpcEcho) Echo(ctx context.Context, _ *pb.EchoRequest) (*pb.EchoResponse, error) {
	return e.answer(ctx), nil
}

// EchoTwo implements pb.GrpcEchoServer.
func (e *grpcEcho) EchoTwo(ctx context.Context, _ *pb.EchoRequest) (*pb.EchoResponse, error) {
	return e.answer(ctx), nil
}

// answer returns a description of the call that ctx belongs to.
func (e *grpcEcho) answer(ctx context.Context) *pb.EchoResponse {
	method, _ := grpc.Method(ctx)
	e.container.log.printf("Echoing back call of %s", method)
	seen, _ := metadata.FromIncomingContext(ctx)
	assertions := &pb.Assertions{
		FullyQualifiedMethod: method,
		Authority:            strings.Join(seen.Get(":authority"), ","),
		Context: &pb.Context{
			Namespace:   e.container.env["NAMESPACE"],
			Ingress:     e.container.env["INGRESS_NAME"],
			ServiceName: e.container.env["SERVICE_NAME"],
			Pod:         e.container.env["POD_NAME"],
		},
		TlsAssertions: grpcHandshake(ctx),
	}
	for key, values := range seen {
		for _, value := range values {
			assertions.Headers = append(assertions.Headers, &pb.Header{Key: key, Value: value})
		}
	}
	return &pb.EchoResponse{Assertions: assertions}
}

// grpcHandshake returns the TLS handshake of a call, or nil for a call without TLS.
func grpcHandshake(ctx context.Context) *pb.TLSAssertions {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	h := newHandshake(&info.State)
	return &pb.TLSAssertions{
		Version:            h.Version,
		NegotiatedProtocol: h.NegotiatedProtocol,
		ServerName:         h.ServerName,
		CipherSuite:        h.CipherSuite,
		PeerCertificates:   h.PeerCertificates,
	}
}
