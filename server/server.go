// Package server gives Envoy what translate made of the user's YAML, over the
// incremental aggregated discovery service, and tells what Envoy said to it.
//
// The snapshot cache and the stream handler are this package's own, directly on
// gRPC, with types and names from go-control-plane. The stock cache loses
// requests when a cluster is swapped, encodes a table once per stream and gives
// up the ACK of single resources (docs/design/reliability.md#findings). Here
// a resource is encoded once: its Body goes from translate to every socket as
// the same bytes, framed by hand in delta/response.go.
//
// The parts, each a type whose fields are all that it may touch:
//
//   - package delta: what is to be served, and what a stream is sent next
//   - gateways (gateways.go, publish.go): the scopes of the Gateways, each a target with its streams (stream.go)
//   - session (session.go, request.go; discover.go opens it): what the goroutine of a stream does, with the core
//     that it shares with the server (core.go)
//   - verdicts (tally.go, status.go, judge.go): counts the answers, and judges Gateways by the counts
//   - quarantine (quarantine.go, review.go): what Envoys rejected
//   - stage (stage.go, soak.go; fleet.go has what it is to a scope): which revisions only canaries have
//   - staging (stagingjudge.go judges by blame.go and errorbound.go; staging.go, stagingreport.go): what becomes of those
//   - clients: the limits of clients; package connect: how they connect
//   - loaded: what the folder came to; package board: the status of objects; package admin: the
//     pages that show it all; package figures: the metrics
//
// One mutex, lock, guards the state of Gateways and streams. It is never held while sending or waiting,
// so that a stream that does not read delays neither Publish nor another stream. The locks
// of loaded, package connect and the board are their own, and are taken after it. What a client asks for is
// booked in steps (delta.Step), and bounded (limits.go).
package server

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/figures"
	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/server/page"
)

// stopTime is how long Run waits for calls under way when it stops.
const stopTime = 5 * time.Second

// Server serves Envoys and the admin pages. Its parts have the state; it starts and stops them.
type Server struct {
	*core
	health    *connect.Health
	stopping  chan struct{}
	transport *connect.Transport
	intake    *connect.Intake
	loaded    *loaded // with a lock of its own, which is taken after lock

	// Guarded by lock:
	published bool // once Publish was called
	streamID  uint64
	warned    map[string]bool // node.cluster that nothing is known of
}

// New returns a server that serves nothing yet.
func New(options Options, log zerolog.Logger) *Server {
	options.XDSAddress = cmp.Or(options.XDSAddress, "127.0.0.1:18000")
	options.AdminAddress = cmp.Or(options.AdminAddress, "127.0.0.1:19000")
	options.SocketMode = cmp.Or(options.SocketMode, 0o600)
	options.ConnectionTime = cmp.Or(options.ConnectionTime, connect.HandshakeTime)
	options.BarrierWait = cmp.Or(options.BarrierWait, 5*time.Second)
	options.BindRetry = cmp.Or(options.BindRetry, time.Second)
	counted, stopping := figures.New(), make(chan struct{})
	s := &Server{
		core: &core{
			barrier: &barrier{log, counted}, lock: &lock{}, gateways: newGateways(options.Staging.Fleets), clients: &clients{streams: map[string]int{}},
			options: options, log: log, metrics: counted, refused: connect.NewRefusals(log, counted.Refused),
		},
		stopping: stopping, intake: connect.NewIntake(stopping), warned: map[string]bool{},
	}
	s.transport = connect.NewTransport(connect.Options{
		TLS: options.TLS, Grants: options.Grants, TLSInterval: options.TLSInterval, Handshake: options.ConnectionTime,
		PingEvery: options.pingEvery, PingWait: options.pingWait,
	}, log, s.refused)
	s.board = board.New(func() { s.locked(s.verdicts.refresh) })
	s.verdicts = newVerdicts(s.gateways, s.board, newAnnouncements(log, s.board, options.Folder))
	s.quarantine = newQuarantine(s.lock, s.verdicts, options)
	s.staging = newStaging(options.Staging, s.verdicts, s.quarantine, log, counted)
	s.verdicts.canaries = s.staging.poke
	s.loaded = &loaded{folder: options.Folder, board: s.board, metrics: counted, waiting: s.intake.Waiting}
	s.health = connect.NewHealth(func() bool { return s.loaded.Unready() == "" })
	counted.FollowWaiting(s.intake.Waiting)
	counted.FollowBoard(s.board)
	counted.FollowBusy(s.loaded.busy)
	return s
}

// Run listens on both addresses and serves until ctx ends. Then streams end at once, and other
// calls within five seconds. It returns nil after that, and an error if an address cannot be
// used. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.transport.OpenTLS(); err != nil {
		return err
	}
	keeper := s.transport.Keeper()
	if keeper != nil {
		s.metrics.FollowTLS(keeper.State)
	}
	local := !s.options.XDSInsecure && keeper == nil
	xds, err := connect.Listen(ctx, s.options.XDSAddress, s.options.SocketMode, local)
	if err != nil {
		return err
	}
	pagesAt, err := connect.Listen(ctx, s.options.AdminAddress, s.options.SocketMode, false)
	if err != nil {
		return errors.Join(err, xds.Close())
	}
	s.warnOfOpenAdmin(pagesAt.Addr())
	if s.options.Listening != nil {
		s.options.Listening(xds.Addr(), pagesAt.Addr())
	}
	discovery := s.discovery()
	pages := s.pages(pagesAt.Addr())
	xds = connect.BoundXDS(xds, s.log)
	pagesAt = connect.BoundAdmin(pagesAt, s.log)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := discovery.Serve(xds); !errors.Is(err, grpc.ErrServerStopped) { // before it began
			return err
		}
		return nil
	})
	group.Go(func() error { s.Steady(ctx, "certificates", s.transport.WatchTLS); return nil })
	group.Go(func() error { s.Steady(ctx, "quarantine", s.quarantine.run); return nil })
	group.Go(func() error { s.Steady(ctx, "staging", s.staging.run); return nil })
	group.Go(func() error { s.Steady(ctx, "binds", s.verdicts.announced.tellBinds); return nil })
	group.Go(func() error { s.Steady(ctx, "health", s.health.Follow); return nil })
	group.Go(func() error {
		if err := pages.Serve(pagesAt); !errors.Is(err, http.ErrServerClosed) {
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
	g := grpc.NewServer(s.transport.GRPCOptions()...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, s)
	lrsv3.RegisterLoadReportingServiceServer(g, loadReports{s.core, s.transport, s.intake, s.stopping})
	healthv1.RegisterHealthServer(g, s.health)
	return g
}

// adminOptions are what the admin pages are made of.
func (s *Server) adminOptions() admin.Options {
	return admin.Options{
		Log: s.log, Metrics: s.metrics.Registry, Panics: s.metrics.AdminPanics,
		Board: s.board, Loaded: s.loaded, Envoys: envoyPages{s.core, s.transport}, Folder: s.options.Folder, Survives: s.survives,
		Profile: s.options.Profile, ConnectionTime: s.options.ConnectionTime, Page: page.New,
	}
}

// pages makes the server of the admin pages.
func (s *Server) pages(address net.Addr) *http.Server {
	pages := admin.NewServer(s.adminOptions(), address)
	pages.ConnState = connect.OccupyForRequest
	return pages
}

// Register adds metrics of other parts of the program to /metrics. It panics if a name is
// taken.
func (s *Server) Register(figures ...prometheus.Collector) {
	s.metrics.Registry.MustRegister(figures...)
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

// Reloaded records a reload's result for the metrics and pages.
func (s *Server) Reloaded(r Reload) {
	s.metrics.Reloaded(r.Result, r.OK, r.Hold != "", r.Stages)
	s.loaded.reloaded(r)
}

// FollowStatus begins the one feed of the status of objects. It is called before Run and Publish.
func (s *Server) FollowStatus() *board.Feed { return s.board.Follow() }

// StateFailed records why the state cannot be saved for a restart; "" says that it can.
func (s *Server) StateFailed(reason string) {
	s.loaded.setUnsaved(reason)
}

var _ discoveryv3.AggregatedDiscoveryServiceServer = (*Server)(nil)

// warnOfOpenAdmin tells that other hosts reach the admin pages.
func (s *Server) warnOfOpenAdmin(address net.Addr) {
	if health.IsLocal(address) {
		return
	}
	s.log.Warn().Str("admin", address.String()).
		Msg("the admin pages are not on loopback or a unix socket: whoever reaches them reads the configuration and may reload")
}
