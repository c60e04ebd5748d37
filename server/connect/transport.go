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
	// TLS, if it names a file, requires a certificate of every client. Grants add to the Gateways that a
	// certificate allows.
	TLS    mtls.Files
	Grants mtls.Grants
	// TLSInterval is how often the files are read; 0 means 1 s.
	TLSInterval time.Duration
	// Handshake limits the handshake of a connection; 0 means 10 s.
	Handshake time.Duration
}

// Transport has the gRPC options for connections of clients: bounds and, if TLS files are configured,
// certificates.
type Transport struct {
	options Options
	log     zerolog.Logger
	refused *Refusals
	keeper  *mtls.Keeper // nil without TLS; set by OpenTLS
}

// NewTransport returns a Transport. Unset options get their defaults. OpenTLS must be called before the other
// methods.
func NewTransport(options Options, log zerolog.Logger, refused *Refusals) *Transport {
	options.TLSInterval = cmp.Or(options.TLSInterval, time.Second)
	options.Handshake = cmp.Or(options.Handshake, HandshakeTime)
	return &Transport{options: options, log: log, refused: refused}
}

// Keeper returns the mtls.Keeper that keeps the server's certificates up to date with their files. It returns nil
// without TLS.
func (t *Transport) Keeper() *mtls.Keeper { return t.keeper }

// OpenTLS reads the certificate files. It does nothing without TLS. It returns an error if the files cannot be
// used.
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

// WatchTLS reloads the certificate files when they change, until ctx ends. It returns at once without TLS.
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

// warnOfExpiry logs a warning if the certificate has expired.
func (t *Transport) warnOfExpiry() {
	if end := t.keeper.State().NotAfter; time.Now().After(end) {
		t.log.Warn().Time("expired", end).Msg("the xDS certificate has expired: no Envoy will connect")
	}
}

// HandshakeTime is how long the TLS handshake and the HTTP/2 preface of a connection may take by default.
const HandshakeTime = 10 * time.Second

// pingEvery is how long a connection may be silent until gatefold sends a ping, and pingWait how long the answer may
// take. Only pings find an Envoy that hangs, or a broken network.
const pingEvery, pingWait = 30 * time.Second, 10 * time.Second

// maxMessage bounds a request, in bytes. A request after a reconnect names everything that an Envoy has
// (docs/design/reliability.md#xds-server).
const maxMessage = 64 << 20

// GRPCOptions returns the options of the gRPC server: the bounds of connections (docs/design/reliability.md)
// and, with TLS, the certificates.
func (t *Transport) GRPCOptions() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newFrameCodec()),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingEvery, Timeout: pingWait,
			MaxConnectionIdle: 5 * time.Minute, // for connections without a stream
		}),
		// Envoy's bootstrap pings every 5 s. A client that pings more often than MinTime is disconnected.
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

// toldHandshake wraps gRPC credentials. It calls the function failed, with the client's address, for each
// handshake that fails. gRPC itself does not report failed handshakes.
type toldHandshake struct {
	credentials.TransportCredentials
	failed func(net.Addr, error)
}

// ServerHandshake does the server's handshake on a connection. If the handshake fails, it calls t.failed and
// returns the error.
func (t toldHandshake) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := t.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		t.failed(raw.RemoteAddr(), err)
	}
	return conn, info, err
}

// Clone returns a copy of the credentials. The copy has the same function in its field failed.
func (t toldHandshake) Clone() credentials.TransportCredentials {
	return toldHandshake{t.TransportCredentials.Clone(), t.failed}
}

// Identify returns the identity and the network address of the client of a call. With TLS, the identity is that
// of the client's certificate. Without TLS, the identity depends on whether the client is on this host. If the
// client or its certificate is not known, the identity is zero, which allows no Gateway.
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
