package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/translate/xds"
)

type deltaRequest = discoveryv3.DeltaDiscoveryRequest

// maxWarned bounds how many unknown names are warned about in one run.
const maxWarned = 1000

// stream is one Envoy's discovery stream. The plan and the state are guarded by
// Server.mu; the stream's own goroutine alone sends.
type stream struct {
	plan
	id      uint64
	node    string // node.id: for people only
	cluster string // node.cluster: names the Gateway
	version string // of Envoy, "" when it did not tell
	peer    string
	// address is where peer is from, claim what the Envoy's metadata says of its admin
	// address: see server/health.
	address net.Addr
	claim   string
	// identity is what its certificate says, "" without TLS.
	identity string
	wake     chan struct{} // capacity 1
	// unserved is true if a warning was given; it is the goroutine's own.
	unserved bool
	state    state
	share    // of tallies
	// early are requests that wait until the scope is known; of the state-of-the-world
	// protocol alone.
	early    []*deltaRequest
	forgiven bool  // what was rejected is to be tried again: see Server.forgive
	usage    usage // of limits
	objected objected
}

// mark notes that resources of the target changed; names is never changed.
func (st *stream) mark(typ string, names ...string) {
	if l := st.ledgers[typ]; l != nil {
		l.markAll(names)
		st.setIdle(false)
		st.poke()
	}
}

// poke wakes the stream's goroutine without waiting for it.
func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// StreamAggregatedResources serves a client of the state-of-the-world protocol:
// see sotw.go.
func (s *Server) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.discover(&worldWire{stream, map[string]map[string]struct{}{}}, world{})
}

// DeltaAggregatedResources serves a client of the incremental protocol.
func (s *Server) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return s.discover(deltaWire{stream}, nil)
}

// discover serves one Envoy until it leaves, its stream fails or the server
// stops; of is nil for the incremental protocol.
func (s *Server) discover(wire wire, of world) (err error) {
	defer s.rescue(&err)
	ctx := wire.Context()
	defer occupy(ctx)()
	arrived, done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	messages, failed := receive(ctx, wire)
	var st *stream
	defer func() {
		if st != nil {
			s.leave(st)
		}
	}()
	select {
	case m := <-messages:
		arrived()
		err := s.read(wire, m, func(request *deltaRequest) (err error) {
			if st, err = s.open(ctx, request); err == nil {
				st.world = of
				err = s.handle(st, request)
			}
			return err
		})
		if err != nil {
			return err
		}
	case err := <-failed:
		return ended(err)
	case <-s.stopping:
		return errStopping
	}
	done()
	return s.converse(st, wire, messages, failed)
}

// converse serves a stream from its second message on.
func (s *Server) converse(st *stream, wire wire, messages <-chan message, failed <-chan error) error {
	book := func(request *deltaRequest) error { return s.handle(st, request) }
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, err := s.flush(st, wire)
		if err != nil {
			return err
		}
		timer.Reset(wait)
		select {
		case m := <-messages:
			if err := s.read(wire, m, book); err != nil {
				return err
			}
		case <-st.wake:
		case <-timer.C:
		case err := <-failed:
			return ended(err)
		case <-s.stopping:
			return errStopping
		}
	}
}

// rescue ends a stream on which gatefold made a mistake, and no other one.
func (s *Server) rescue(err *error) {
	mistake := recover()
	if mistake == nil {
		return
	}
	s.metrics.panics.Inc()
	s.log.Error().Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
		Msg("a mistake in gatefold: the stream of an Envoy is ended; please report it")
	*err = status.Error(codes.Internal, "a mistake in gatefold; its log has the details")
}

// ended is nil when the client closed the stream.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

var errStopping = status.Error(codes.Unavailable, "gatefold is stopping")

// open finds the scope that the node may have.
func (s *Server) open(ctx context.Context, first *deltaRequest) (*stream, error) {
	node := first.GetNode()
	if first.GetTypeUrl() == "" {
		return nil, status.Error(codes.InvalidArgument, "the first request has no type_url")
	}
	gateway := node.GetCluster()
	if len(gateway) > maxCluster {
		return nil, status.Errorf(codes.InvalidArgument, "node.cluster is longer than %d bytes", maxCluster)
	}
	who, from := s.identify(ctx)
	id := cut(node.GetId())
	if !who.May(gateway) {
		reason := who.Refusal(gateway)
		s.refused.refuse("identity", admin.RejectedClient{Identity: who.String(), Node: id, Cluster: gateway, Peer: hostOf(from), Reason: reason})
		return nil, status.Error(codes.PermissionDenied, reason)
	}
	version := cut(envoyVersion(first))
	if oldestEnvoy().after(version) {
		reason := tooOld(version)
		s.refused.refuse("version", admin.RejectedClient{Identity: who.String(), Node: id, Cluster: gateway, Peer: hostOf(from), Reason: reason})
		return nil, status.Error(codes.FailedPrecondition, reason)
	}
	st := &stream{
		node: id, cluster: gateway, version: version, peer: from.String(), identity: who.String(),
		address: from, claim: cut(node.GetMetadata().GetFields()[envoy.AdminAddressKey].GetStringValue()),
		wake: make(chan struct{}, 1),
		plan: plan{
			opened: time.Now(), wait: s.options.BarrierWait, bindRetry: s.options.BindRetry, ordered: !s.options.Unordered,
			ledgers: map[string]*ledger{}, barrier: map[string]time.Time{},
			tables: map[string]*tableState{}, blamed: map[string]struct{}{}, searches: node.GetUserAgentName() == "envoy", hints: true,
		},
	}
	unknown, err := s.join(st)
	if err != nil {
		return nil, s.overLimit(st, err)
	}
	s.metrics.streams.Inc()
	s.tellOld(st)
	s.log.Info().Str("node", st.node).Str("cluster", gateway).Str("peer", st.peer).
		Str("identity", st.identity).Str("envoy", st.version).Msg("Envoy connected")
	if unknown {
		s.log.Warn().Str("node", st.node).Str("cluster", gateway).
			Msg("an Envoy asks for a Gateway that has nothing to serve; it is sent nothing")
	}
	return st, nil
}

// join puts the stream into its scope. It tells, once for each name, when the
// scope has nothing to serve. The error says that the client has too many streams.
func (s *Server) join(st *stream) (unknown bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admitStream(st); err != nil {
		return false, err
	}
	s.streamID++
	st.id = s.streamID
	st.scope = s.union
	if strings.Contains(st.cluster, "/") {
		st.scope = s.scopeOf(st.cluster)
	}
	st.scope.streams[st] = struct{}{}
	st.scope.tally.busy++
	s.recount(st)
	if testedEnvoy().after(st.version) {
		s.restate(st.scope)
	}
	s.touched[st.scope] = struct{}{}
	s.judgeTouched()
	if !s.published || st.scope.known || s.warned[st.cluster] || len(s.warned) >= maxWarned {
		return false, nil
	}
	s.warned[st.cluster] = true
	return true, nil
}

// leave ends what the server knows of a stream.
func (s *Server) leave(st *stream) {
	s.metrics.streams.Dec()
	if testedEnvoy().after(st.version) {
		s.metrics.old.Dec()
	}
	s.log.Info().Str("node", st.node).Str("cluster", st.cluster).Msg("Envoy disconnected")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(st.scope.streams, st)
	for name := range st.tables {
		st.forgetTable(name)
	}
	s.acquit(st)
	if len(s.quarantine.parts) > 0 {
		s.quarantine.poke() // nobody waits for its answer
	}
	s.withdraw(st)
	s.release(st)
	if testedEnvoy().after(st.version) {
		s.restate(st.scope)
	}
	s.judgeTouched()
	if !s.board.Knows(st.scope.name) && !st.scope.known && len(st.scope.streams) == 0 && st.scope != s.union {
		delete(s.scopes, st.scope.name)
		s.verdicts.forget(st.scope.name)
	}
}

// handle books one request: an answer, a change of what is asked for, or both. The error
// says that the client is over a limit.
func (s *Server) handle(st *stream, request *deltaRequest) error {
	if !slices.Contains(servedTypes(), request.GetTypeUrl()) {
		s.warnUnserved(st, request.GetTypeUrl())
		return s.overLimit(st, st.usage.spend(request, false, 0, time.Now()))
	}
	var answered *response
	early, over := false, error(nil)
	s.locked(func() {
		if early = st.world != nil && !st.scope.known; early {
			return
		}
		if answered = st.answer(request); answered != nil {
			s.heed(st, answered)
		}
		over = st.usage.spend(request, answered != nil, st.scope.size(), time.Now())
	})
	if early {
		return s.overLimit(st, st.keep(request))
	}
	nack := request.GetErrorDetail() != nil
	st.took(answered, nack)
	if over == nil {
		over = s.subscribe(st, request)
	}
	s.locked(func() { s.settle(st) })
	s.compact(st)
	if answered != nil {
		s.tellAnswer(st, answered, nack, request)
	}
	return s.overLimit(st, over)
}

// tellAnswer counts and logs an answer.
func (s *Server) tellAnswer(st *stream, answered *response, nack bool, request *deltaRequest) {
	s.metrics.answered(answered, nack)
	if nack {
		s.logRejection(st, answered, request)
	}
}

// warnUnserved tells once of a stream that it asks in vain.
func (s *Server) warnUnserved(st *stream, typ string) {
	if st.unserved {
		return
	}
	st.unserved = true
	s.log.Warn().Str("node", st.node).Str("type", xds.ShortType(typ)).Msg("an Envoy asks for a type that is not served")
}

// answer books an ACK or NACK and gives the response it is for, nil when the
// request is no answer.
func (st *stream) answer(request *deltaRequest) *response {
	l, detail := st.ledgers[request.GetTypeUrl()], request.GetErrorDetail()
	if l == nil || request.GetResponseNonce() == "" {
		return nil
	}
	return st.book(l, request.GetResponseNonce(), detail != nil, plainWords(l.typ, detail.GetMessage()))
}

// flush sends all that may be sent now and gives the time until there may be
// more. The lock is never held while sending.
func (s *Server) flush(st *stream, wire interface{ SendMsg(any) error }) (time.Duration, error) {
	for _, request := range s.timely(st) {
		if err := s.handle(st, request); err != nil {
			return 0, err
		}
	}
	s.forgiveOne(st)
	for {
		r, wait := s.nextOf(st)
		switch {
		case r == nil && len(st.waiting) > 0:
			s.prepare(st)
			continue
		case r == nil && st.tired:
			continue
		case r == nil:
			s.compact(st)
			return wait, nil
		}
		f := r.frame()
		if st.world != nil {
			st.world.states(r)
			f = r.worldFrame()
		}
		if err := wire.SendMsg(f); err != nil {
			return 0, err
		}
		s.metrics.sent(r.typ, f.buffers.Len())
	}
}

// nextOf returns the next response of a stream, or nil and the time until there may be one.
func (s *Server) nextOf(st *stream) (r *response, wait time.Duration) {
	s.locked(func() {
		now := time.Now()
		next, until := st.next(now)
		s.acquit(st)
		if next == nil && !st.tired {
			s.settle(st)
		}
		r, wait = next, waitFor(until, now)
	})
	return r, wait
}

// waitFor returns the time to until, an hour when nothing is planned.
func waitFor(until, now time.Time) time.Duration {
	if until.IsZero() {
		return time.Hour
	}
	return max(until.Sub(now), time.Millisecond)
}
