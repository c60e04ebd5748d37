package connect

import (
	"cmp"
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

// Options are the settings of connections.
type Options struct {
	// TLS, if a file is named, requires a certificate of every client, which Grants add Gateways to.
	TLS    mtls.Files
	Grants mtls.Grants
	// TLSInterval is how often the files are read.
	TLSInterval time.Duration
	// Handshake limits the handshake of a connection; 0 means 10 s.
	Handshake time.Duration
	// PingEvery is the silence after which a connection is asked for a sign of life, and PingWait how long that
	// may take; 0 means 30 s and 10 s.
	PingEvery, PingWait time.Duration
}

// Transport is how clients connect: with the bounds of a connection and, where there are
// certificates, with the proof that it asks for.
type Transport struct {
	options Options
	log     zerolog.Logger
	refused *Refusals
	keeper  *mtls.Keeper // nil without TLS; set by OpenTLS
}

// NewTransport returns how clients connect. OpenTLS is called before the rest.
func NewTransport(options Options, log zerolog.Logger, refused *Refusals) *Transport {
	options.TLSInterval = cmp.Or(options.TLSInterval, time.Second)
	options.Handshake = cmp.Or(options.Handshake, HandshakeTime)
	options.PingEvery, options.PingWait = cmp.Or(options.PingEvery, pingEvery), cmp.Or(options.PingWait, pingWait)
	return &Transport{options: options, log: log, refused: refused}
}

// Keeper returns what keeps the certificates; nil without TLS.
func (t *Transport) Keeper() *mtls.Keeper { return t.keeper }

// OpenTLS reads the certificate files, where there are any.
func (t *Transport) OpenTLS() error {
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

// WatchTLS follows the certificate files until ctx ends.
func (t *Transport) WatchTLS(ctx context.Context) {
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

func (t *Transport) warnOfExpiry() {
	if end := t.keeper.State().NotAfter; time.Now().After(end) {
		t.log.Warn().Time("expired", end).Msg("the xDS certificate has expired: no Envoy will connect")
	}
}

// HandshakeTime is how long a connection has for its handshake and HTTP/2 preface.
const HandshakeTime = 10 * time.Second

// An Envoy that froze, or whose network is gone, is noticed by this alone.
const pingEvery, pingWait = 30 * time.Second, 10 * time.Second

// maxMessage bounds a request: a reconnect names everything that an Envoy holds
// (docs/design/reliability.md#xds-server).
const maxMessage = 64 << 20

// GRPCOptions are the bounds of a connection (docs/design/reliability.md) and,
// where there are certificates, the proof that it asks for.
func (t *Transport) GRPCOptions() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newFrameCodec()),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: t.options.PingEvery, Timeout: t.options.PingWait,
			MaxConnectionIdle: 5 * time.Minute, // without a stream
		}),
		// Envoy's bootstrap pings every 5 s; a client that pings more often than MinTime is sent away.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		grpc.MaxConcurrentStreams(1000),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.ConnectionTimeout(t.options.Handshake),
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

// Identify tells who the other end of a call is.
func (t *Transport) Identify(ctx context.Context) (mtls.Identity, net.Addr) {
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
