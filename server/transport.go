package server

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/server/mtls"
)

// transport is how clients connect: with the bounds of a connection and, where there are
// certificates, with the proof that it asks for.
type transport struct {
	options Options
	log     zerolog.Logger
	refused *refusals
	keeper  *mtls.Keeper // nil without TLS; set by openTLS
}

// openTLS reads the certificate files, where there are any.
func (t *transport) openTLS() error {
	if !t.options.TLS.Any() {
		return nil
	}
	keeper, err := mtls.Load(t.options.TLS)
	if err != nil {
		return fmt.Errorf("xDS certificates: %w", err)
	}
	t.keeper = keeper
	t.warnOfExpiry()
	return nil
}

// watchTLS follows the certificate files until ctx ends.
func (t *transport) watchTLS(ctx context.Context) {
	if t.keeper == nil {
		return
	}
	t.keeper.Watch(ctx, t.options.TLSInterval, func(err error) {
		if err != nil {
			t.log.Error().Err(err).Msg("the xDS certificate files cannot be used; the certificate that was loaded before is still used")
			return
		}
		t.log.Info().Time("expires", t.keeper.State().NotAfter).Msg("the xDS certificate files are loaded again")
		t.warnOfExpiry()
	})
}

func (t *transport) warnOfExpiry() {
	if end := t.keeper.State().NotAfter; time.Now().After(end) {
		t.log.Warn().Time("expired", end).Msg("the xDS certificate has expired: no Envoy will connect")
	}
}

// A connection has this long for its handshake and HTTP/2 preface.
const connectionTime = 10 * time.Second

// An Envoy that froze, or whose network is gone, is noticed by this alone.
const pingEvery, pingWait = 30 * time.Second, 10 * time.Second

// maxMessage bounds a request: a reconnect names everything that an Envoy holds
// (docs/design/reliability.md#xds-server).
const maxMessage = 64 << 20

// grpcOptions are the bounds of a connection (docs/design/reliability.md) and,
// where there are certificates, the proof that it asks for.
func (t *transport) grpcOptions() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newFrameCodec()),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: t.options.pingEvery, Timeout: t.options.pingWait,
			MaxConnectionIdle: 5 * time.Minute, // without a stream
		}),
		// Envoy's bootstrap pings every 5 s; a client that pings more often than MinTime is sent away.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		grpc.MaxConcurrentStreams(1000),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.ConnectionTimeout(t.options.ConnectionTime),
	}
	creds := insecure.NewCredentials()
	if t.keeper != nil {
		creds = toldHandshake{credentials.NewTLS(t.keeper.Config()), t.refused.refuseHandshake}
	}
	return append(options, grpc.Creds(namedHandshake{creds}))
}

// toldHandshake tells of handshakes that fail, about which grpc keeps silent.
type toldHandshake struct {
	credentials.TransportCredentials
	failed func(net.Addr, error)
}

// ServerHandshake is the handshake of a connection.
func (t toldHandshake) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := t.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		t.failed(raw.RemoteAddr(), err)
	}
	return conn, info, err
}

// Clone returns credentials that report to the same server.
func (t toldHandshake) Clone() credentials.TransportCredentials {
	return toldHandshake{t.TransportCredentials.Clone(), t.failed}
}

// identify tells who the other end of a call is.
func (t *transport) identify(ctx context.Context) (mtls.Identity, net.Addr) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return mtls.Identity{}, &net.UnixAddr{}
	}
	if t.keeper == nil {
		if health.IsLocal(p.Addr) {
			return mtls.Local(), p.Addr
		}
		return mtls.Unproved(), p.Addr
	}
	info, ok := authInfo(p).(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return mtls.Identity{}, p.Addr
	}
	return t.options.Grants.Identify(info.State.PeerCertificates[0]), p.Addr
}

// warnOfOpenAdmin tells that other hosts reach the admin pages.
func (s *Server) warnOfOpenAdmin(address net.Addr) {
	if health.IsLocal(address) {
		return
	}
	s.log.Warn().Str("admin", address.String()).
		Msg("the admin pages are not on loopback or a unix socket: whoever reaches them reads the configuration and may reload")
}
