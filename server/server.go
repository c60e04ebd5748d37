// Package server sends Envoy the resources that translate made of the user's YAML, over the incremental and the
// state-of-the-world aggregated discovery service. It reports what Envoy accepted and rejected.
//
// The snapshot cache and the stream handler are this package's own, directly on gRPC, with types and names from
// go-control-plane. The cache of go-control-plane loses requests when a cluster is swapped. It encodes a table
// once per stream, and does not track the ACK of single resources (docs/design/reliability.md#findings). Here a
// resource is encoded once: every socket gets the same bytes (Body), in frames that delta/response.go writes.
//
// Each of these types reaches only its own fields:
//
//   - package delta: the resources of a target, and what a stream is sent next
//   - gateways (gateways.go, publish.go): the scopes of the Gateways, each a target with its streams
//     (stream.go)
//   - session (session.go, request.go; discover.go opens it): what the goroutine of a stream does, with the
//     core that it shares with the server (core.go)
//   - verdicts (tally.go, status.go, judge.go): counts the answers of Envoys, and decides whether Gateways are
//     programmed
//   - quarantine (quarantine.go, review.go): the rules that Envoys rejected
//   - stage (stage.go, soak.go; fleet.go has its methods of scope): the revisions that only canaries have
//   - staging (staging.go, stagingjudge.go, stagingreport.go, blame.go, errorbound.go): promotes or freezes
//     these revisions
//   - clients: the limits of clients; package connect: how they connect
//   - loaded: the result of loading the folder; package board: the status of objects; package admin: the pages
//     that show all this; package figures: the metrics
//
// One mutex, lock, guards the state of Gateways and streams. It is never locked while sending or waiting. So a
// stream that does not read delays neither Publish nor another stream. loaded, package connect and the board
// have their own locks, which are locked after it. A request is handled in steps (delta.Step), and its size is
// bounded (limits.go).
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

// stopTime is how long Run waits for calls in progress when it stops.
const stopTime = 5 * time.Second

// Server serves Envoys and the admin pages. New makes it, and Run serves until its context ends.
type Server struct {
	*core
	health    *connect.Health
	stopping  chan struct{}
	transport *connect.Transport
	intake    *connect.Intake
	loaded    *loaded // has a lock of its own; to hold both locks, lock the server's lock first

	// Guarded by lock:
	published bool // true after the first Publish
	streamID  uint64
	warned    map[string]bool // the values of node.cluster that the log warned of
}

// New returns a server that serves nothing yet. Unset options get their defaults.
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
	}, log, s.refused)
	s.board = board.New(func() { s.locked(s.verdicts.refresh) })
	s.verdicts = newVerdicts(s.gateways, s.board, newAnnouncements(log, s.board, options.Folder))
	s.quarantine = newQuarantine(s.lock, s.verdicts, options)
	s.staging = newStaging(options.Staging, s.verdicts, s.quarantine, log, counted)
	s.holes = newHoles(options)
	s.verdicts.canaries = s.staging.poke
	s.loaded = &loaded{folder: options.Folder, board: s.board, metrics: counted, waiting: s.intake.Waiting}
	s.health = connect.NewHealth(func() bool { return s.loaded.Unready() == "" })
	counted.FollowWaiting(s.intake.Waiting)
	counted.FollowBoard(s.board)
	counted.FollowBusy(s.loaded.busy)
	return s
}

// Run listens on both addresses and serves until ctx ends. Then it ends the streams at once, and other calls
// after at most five seconds, and returns nil. It returns an error if an address or the TLS files cannot be
// used, or if one of the servers fails. It may be called once.
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
	xds = connect.BoundXDS(xds, s.log, s.refused)
	pagesAt = connect.BoundAdmin(pagesAt, s.log)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := discovery.Serve(xds); !errors.Is(err, grpc.ErrServerStopped) { // stop came first
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

// discovery returns the gRPC server with the services for Envoys.
func (s *Server) discovery() *grpc.Server {
	g := grpc.NewServer(s.transport.GRPCOptions()...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, s)
	lrsv3.RegisterLoadReportingServiceServer(g, loadReports{s.core, s.transport, s.intake, s.stopping})
	healthv1.RegisterHealthServer(g, s.health)
	return g
}

// adminOptions returns the options of the admin pages.
func (s *Server) adminOptions() admin.Options {
	return admin.Options{
		Log: s.log, Metrics: s.metrics.Registry, Panics: s.metrics.AdminPanics,
		Board: s.board, Loaded: s.loaded, Envoys: envoyPages{s.core, s.transport}, Folder: s.options.Folder, Survives: s.survives,
		Profile: s.options.Profile, ConnectionTime: s.options.ConnectionTime, Page: page.New, Hosts: s.options.AdminHosts,
	}
}

// pages returns the server of the admin pages.
func (s *Server) pages(address net.Addr) *http.Server {
	pages := admin.NewServer(s.adminOptions(), address)
	pages.ConnState = connect.OccupyForRequest
	return pages
}

// Register adds the metrics of other packages to /metrics. It panics if a metric with that name exists.
func (s *Server) Register(figures ...prometheus.Collector) {
	s.metrics.Registry.MustRegister(figures...)
}

// stop ends both servers within stopTime. The error is that of the admin pages' server.
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

// Reloaded stores the result of a reload for the metrics and pages.
func (s *Server) Reloaded(r Reload) {
	s.metrics.Reloaded(r.Result, r.OK, r.Hold != "", r.Stages)
	s.loaded.reloaded(r)
}

// FollowStatus returns the only feed of the status of objects. It is called before Run and Publish.
func (s *Server) FollowStatus() *board.Feed { return s.board.Follow() }

// SetDigest stores the digest of the served versions (store.Store.Digest), for metrics and pages.
func (s *Server) SetDigest(live uint64) {
	s.metrics.SetDigest(live)
	s.loaded.setDigest(live)
}

// StateFailed stores why the state cannot be saved for a restart; "" means that it can.
func (s *Server) StateFailed(reason string) {
	s.loaded.setUnsaved(reason)
}

var _ discoveryv3.AggregatedDiscoveryServiceServer = (*Server)(nil)

// warnOfOpenAdmin logs a warning if other hosts can reach the admin pages.
func (s *Server) warnOfOpenAdmin(address net.Addr) {
	if health.IsLocal(address) {
		return
	}
	s.log.Warn().Str("admin", address.String()).
		Msg("the admin pages are not on loopback or a unix socket: whoever reaches them reads the configuration and may reload")
}
