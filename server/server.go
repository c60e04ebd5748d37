// Package server gives Envoy what translate made of the user's YAML, over the
// incremental aggregated discovery service, and tells what Envoy said to it.
//
// The snapshot cache and the stream handler are this package's own, directly on
// gRPC, with types and names from go-control-plane. The stock cache loses
// requests when a cluster is swapped, encodes a table once per stream and gives
// up the ACK of single resources (docs/design/reliability.md#findings). Here
// a resource is encoded once: its Body goes from translate to every socket as
// the same bytes, framed by hand in wire.go.
//
// The parts: publish.go holds what is to be served, per Gateway; plan.go decides
// what a stream is sent next; acks.go books what it answered; stream.go moves
// messages; tally.go counts answers and judges by the counts; package board shows
// the verdicts with the status of objects; admin.go and dump.go show it all; envoys.go
// asks Envoys what they alone know. One mutex, Server.mu, guards all state; it is
// never held while sending or waiting, so that a stream that does not read delays neither
// Publish nor another stream. What a client asks for is booked in steps of so many names
// (request.go), and bounded (limits.go).
package server

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gatefold/gatefold/server/board"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/server/mtls"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
)

// Options are the server's settings.
type Options struct {
	// XDSAddress and AdminAddress are "host:port" or "unix:/path"; port 0 takes
	// a free one. Empty means 127.0.0.1:18000 and 127.0.0.1:19000.
	XDSAddress, AdminAddress string
	// XDSInsecure allows XDSAddress to be more than loopback or a unix socket
	// without TLS: whoever connects can read the Gateway's secrets.
	XDSInsecure bool
	// Profile adds /debug/pprof to the admin pages, for this host alone.
	Profile bool
	// SocketMode is the mode of unix sockets; 0 means 0600.
	SocketMode fs.FileMode
	// TLS, where a file is named, asks every xDS client for a certificate, and
	// the certificate decides which Gateways it may have; Grants adds to what
	// certificates say themselves. It holds for loopback and unix sockets alike.
	TLS    mtls.Files
	Grants mtls.Grants
	// TLSInterval is the time between two looks at the files; 0 means 1 s.
	TLSInterval time.Duration
	// ConnectionTime is what a connection has for its handshake; 0 means 10 s.
	ConnectionTime time.Duration
	// BarrierWait bounds how long listeners and routes wait for Envoy's answer
	// to their clusters; 0 means 5 s (docs/design/xds.md).
	BarrierWait time.Duration
	// BindRetry is the wait before a listener whose bind failed is sent again; it
	// doubles with each failure up to 30 s. 0 means 1 s (docs/design/xds.md).
	BindRetry time.Duration
	// Unordered sends everything at once, removals included. It is there to
	// prove that tests of hitless changes can fail.
	Unordered bool
	// Reload, when set, applies the folder again and returns when it is published or
	// frozen, with what changed; allowEmpty lets an emptied or missing folder serve
	// nothing. When ctx ends first, it returns its error: the folder is applied all the same.
	// It may be called from any goroutine.
	Reload func(ctx context.Context, allowEmpty bool) (Changes, error)
	// Places, when set, finds where fields are written in the folder as it was read
	// last, for explain. It may be called from any goroutine.
	Places func([]manifest.Field) []store.Place
	// Outlines, when set, reads what routes ask for in that folder, valid or not.
	Outlines func([]manifest.Key) []store.Outline
	// Labels, when set, returns the labels of objects that are served.
	Labels func([]manifest.Key) []map[string]string
	// Busy, when set, tells what applies the folder's changes. It may be called from any goroutine.
	Busy func() Busy
	// Quarantine, when set, is told what Envoys rejected after each change of it: the
	// newest wins, one call at a time. It answers with a Publish.
	Quarantine func(translate.Quarantine)
	// blameRules takes no rejection for the Envoy's own matter; for tests.
	blameRules bool
	// pingEvery is the silence after which a connection is asked for a sign of life,
	// and pingWait how long that may take; 0 means 30 s and 10 s. For tests.
	pingEvery, pingWait time.Duration
	// Listening, when set, is called once both addresses are bound.
	Listening func(xds, admin net.Addr)
}

// locked runs f under the lock, which a panic does not leave locked.
func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// stopTime is how long Run waits for calls under way when it stops.
const stopTime = 5 * time.Second

// Server serves Envoys and the admin pages.
type Server struct {
	options  Options
	log      zerolog.Logger
	metrics  *metrics
	health   *health.Server
	stopping chan struct{}
	keeper   *mtls.Keeper // nil without TLS; set by Run
	intake   *intake

	mu        sync.Mutex
	published bool
	scopes    map[string]*scope // by Gateway
	union     *scope            // all Gateways
	streamID  uint64
	// clients counts the streams of each client, strangers the names that their Gateways
	// do not have: see limits.go.
	clients   map[string]int
	strangers int
	warned    map[string]bool // node.cluster that nothing is known of
	board     *board.Board    // with a lock of its own, which is taken after mu
	verdicts  verdicts
	// touched are the scopes, or the union, whose tallies changed since they were judged;
	// looks counts the streams that verdicts looked at, for tests.
	touched  map[*scope]struct{}
	looks    int
	problems []manifest.Problem
	// severities counts problems.
	severities map[manifest.Severity]int
	view       func() *ir.View // of the newest Result; nil before the first
	hold       string
	awaits     string // what the first load waits for
	failed     bool   // a mistake of ours kept the last reload from being applied
	unsaved    string // why what serves cannot be saved
	refused    refusals

	quarantine quarantine
	announced  announcements

	// What the Envoys that run on this machine are doing, by Gateway and as told.
	supervised     map[string]envoyhost.State
	supervisedList []envoyhost.State
}

// New makes a server that serves nothing yet.
func New(options Options, log zerolog.Logger) *Server {
	options.XDSAddress = cmp.Or(options.XDSAddress, "127.0.0.1:18000")
	options.AdminAddress = cmp.Or(options.AdminAddress, "127.0.0.1:19000")
	options.SocketMode = cmp.Or(options.SocketMode, 0o600)
	options.TLSInterval = cmp.Or(options.TLSInterval, time.Second)
	options.ConnectionTime = cmp.Or(options.ConnectionTime, connectionTime)
	options.BarrierWait = cmp.Or(options.BarrierWait, 5*time.Second)
	options.BindRetry = cmp.Or(options.BindRetry, time.Second)
	options.pingEvery, options.pingWait = cmp.Or(options.pingEvery, pingEvery), cmp.Or(options.pingWait, pingWait)
	s := &Server{
		options: options, log: log, metrics: newMetrics(), health: health.NewServer(),
		stopping: make(chan struct{}), scopes: map[string]*scope{}, union: newScope(""),
		clients: map[string]int{}, warned: map[string]bool{}, touched: map[*scope]struct{}{}, quarantine: newQuarantine(),
		intake: newIntake(), announced: newAnnouncements(),
	}
	s.board = board.New(s.refresh)
	s.verdicts = newVerdicts(s.board)
	s.metrics.waitIn(s.intake)
	s.metrics.countUnprogrammed(s.board)
	s.Register(newBusyFigures(s.busy))
	s.health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	return s
}

// Run listens on both addresses and serves until ctx ends, then stops: streams
// are ended at once, other calls have five seconds. It returns nil after a stop
// and an error when an address cannot be used. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.openTLS(); err != nil {
		return err
	}
	local := !s.options.XDSInsecure && s.keeper == nil
	xds, err := s.listen(ctx, s.options.XDSAddress, local)
	if err != nil {
		return err
	}
	admin, err := s.listen(ctx, s.options.AdminAddress, false)
	if err != nil {
		return errors.Join(err, xds.Close())
	}
	s.warnOfOpenAdmin(admin.Addr())
	if s.options.Listening != nil {
		s.options.Listening(xds.Addr(), admin.Addr())
	}
	discovery := s.discovery()
	pages := s.pages(admin.Addr())
	xds = s.bound(xds, "xDS", xdsShare, math.MaxInt)
	admin = s.bound(admin, "the admin pages", adminShare, maxAdmin)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := discovery.Serve(xds); !errors.Is(err, grpc.ErrServerStopped) { // before it began
			return err
		}
		return nil
	})
	group.Go(func() error { s.Steady(ctx, "certificates", s.watchTLS); return nil })
	group.Go(func() error { s.Steady(ctx, "quarantine", s.tellQuarantine); return nil })
	group.Go(func() error { s.Steady(ctx, "binds", s.tellBinds); return nil })
	group.Go(func() error { s.Steady(ctx, "health", s.watchHealth); return nil })
	group.Go(func() error {
		if err := pages.Serve(admin); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return s.stop(discovery, pages)
	})
	return group.Wait()
}

// discovery makes the gRPC server.
func (s *Server) discovery() *grpc.Server {
	g := grpc.NewServer(s.grpcOptions()...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, s)
	healthv1.RegisterHealthServer(g, healthService{s.health, s.setHealth})
	return g
}

// stop ends both servers within stopTime.
func (s *Server) stop(discovery *grpc.Server, pages *http.Server) error {
	s.health.Shutdown()
	close(s.stopping)
	hard := time.AfterFunc(stopTime, discovery.Stop)
	defer hard.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := pages.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = pages.Close()
	}
	discovery.GracefulStop()
	return err
}

// Reload is what happened to one change of the folder.
type Reload struct {
	// Result is the metric's label: "ok", "problems", "held", "waiting" or "failed".
	Result string
	// OK is true if what is served now is what the folder says, but for
	// Problems.
	OK bool
	// Hold says why the folder is not followed, "" when it is.
	Hold string
	// Awaits says what is missing while nothing was ever served, "" when nothing is.
	Awaits string
	// Stages are the times that the steps took, by name: "store", "translate".
	Stages map[string]time.Duration
}

// Reloaded takes a reload's result over into the metrics and pages.
func (s *Server) Reloaded(r Reload) {
	s.metrics.reloaded(r)
	s.locked(func() { s.hold, s.awaits, s.failed = r.Hold, r.Awaits, r.Result == "failed" })
}

// FollowStatus begins the one feed of the status of objects. It is called before Run and Publish.
func (s *Server) FollowStatus() *board.Feed { return s.board.Follow() }

// StateFailed tells why what serves cannot be saved for a restart; "" when it is.
func (s *Server) StateFailed(reason string) {
	s.locked(func() { s.unsaved = reason })
}

var _ discoveryv3.AggregatedDiscoveryServiceServer = (*Server)(nil)
