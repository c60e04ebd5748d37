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
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy"
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
	// unserved tells that a warning was given; it is the goroutine's own.
	unserved bool
	linear   bool // it is given linear tables: see linear.go
	state    state
	share    // of tallies
	// early are requests that wait until the scope is known; of the state-of-the-world
	// protocol alone.
	early []*deltaRequest
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
				s.handle(st, request)
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
	book := func(request *deltaRequest) error {
		if s.handle(st, request); len(st.early) > maxEarly {
			return status.Error(codes.ResourceExhausted, "too many requests for a Gateway that has nothing to serve")
		}
		return nil
	}
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
	*err = status.Error(codes.Internal, "a mistake in gatefold; its log tells more")
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
		s.refuse("identity", refusal{Identity: who.String(), Node: id, Cluster: gateway, Peer: hostOf(from), Reason: reason})
		return nil, status.Error(codes.PermissionDenied, reason)
	}
	st := &stream{
		node: id, cluster: gateway, version: cut(envoyVersion(first)), peer: from.String(), identity: who.String(),
		address: from, claim: cut(node.GetMetadata().GetFields()[envoy.AdminAddressKey].GetStringValue()),
		wake: make(chan struct{}, 1),
		plan: plan{
			opened: time.Now(), wait: s.options.BarrierWait, bindRetry: s.options.BindRetry, ordered: !s.options.Unordered,
			ledgers: map[string]*ledger{}, barrier: map[string]time.Time{},
			tables: map[string]*tableState{}, searches: node.GetUserAgentName() == "envoy", treeless: !readsTrees(envoyVersion(first)),
		},
	}
	unknown := s.join(st)
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
// scope has nothing to serve.
func (s *Server) join(st *stream) (unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streamID++
	st.id = s.streamID
	st.scope = s.union
	if strings.Contains(st.cluster, "/") {
		st.scope = s.scopeOf(st.cluster)
	}
	st.scope.streams[st] = struct{}{}
	st.scope.tally.busy++
	s.recount(st)
	s.setLinear(st, st.treeless)
	if tooOld(st.version) {
		s.restate(st.scope)
	}
	s.touched[st.scope] = struct{}{}
	s.judgeTouched()
	if !s.published || st.scope.known || s.warned[st.cluster] || len(s.warned) >= maxWarned {
		return false
	}
	s.warned[st.cluster] = true
	return true
}

// leave ends what the server knows of a stream.
func (s *Server) leave(st *stream) {
	s.metrics.streams.Dec()
	if tooOld(st.version) {
		s.metrics.old.Dec()
	}
	s.log.Info().Str("node", st.node).Str("cluster", st.cluster).Msg("Envoy disconnected")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLinear(st, false)
	delete(st.scope.streams, st)
	s.withdraw(st)
	if tooOld(st.version) {
		s.restate(st.scope)
	}
	s.judgeTouched()
	if !s.board.knows(st.scope.name) && !st.scope.known && len(st.scope.streams) == 0 && st.scope != s.union {
		delete(s.scopes, st.scope.name)
		s.board.forget(st.scope.name)
	}
}

// handle books one request: an answer, a change of what is asked for, or both.
func (s *Server) handle(st *stream, request *deltaRequest) {
	if !slices.Contains(servedTypes(), request.GetTypeUrl()) {
		s.warnUnserved(st, request.GetTypeUrl())
		return
	}
	var answered *response
	s.locked(func() {
		if st.world != nil && !st.scope.known {
			st.early = append(st.early, request)
			return
		}
		if answered = st.answer(request); answered != nil {
			s.heed(st, answered)
		}
		s.subscribe(st, request)
		s.settle(st)
	})
	if answered == nil {
		return
	}
	nack := request.GetErrorDetail() != nil
	s.metrics.answered(answered, nack)
	if nack {
		s.logRejection(st, answered, request)
	}
	s.logFindings(st, answered)
}

// warnUnserved tells once of a stream that it asks in vain.
func (s *Server) warnUnserved(st *stream, typ string) {
	if st.unserved {
		return
	}
	st.unserved = true
	s.log.Warn().Str("node", st.node).Str("type", shortType(typ)).Msg("an Envoy asks for a type that is not served")
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

// subscribe changes what the stream asks for. The first request of a type tells
// what the Envoy holds from a stream before, and an empty one asks for all
// clusters, listeners or scopes (xDS protocol, "How the client specifies what resources
// to return").
func (st *stream) subscribe(request *deltaRequest) {
	typ, names := request.GetTypeUrl(), request.GetResourceNamesSubscribe()
	l := st.ledgers[typ]
	first := l == nil
	if first {
		l = newLedger(typ)
		st.ledgers[typ] = l
	}
	had, versions := l.wildcard, request.GetInitialResourceVersions()
	l.wildcard = had || first && len(names) == 0 && listed(typ)
	if st.world != nil {
		for _, name := range names { // recall reads them
			if name != wildcard {
				l.names.set(name, "")
			}
		}
		versions = st.recall(l, versions[wholeType])
	}
	l.subscribe(st.scope.intern(typ, names), versions, first)
	l.unsubscribe(request.GetResourceNamesUnsubscribe())
	if typ == resourcev3.RouteType {
		for _, name := range request.GetResourceNamesUnsubscribe() {
			delete(st.tables, name)
		}
	}
	if first {
		l.resume(versions, st.scope)
	}
	l.waits = l.waits || first && l.wildcard && len(versions) == 0
	if l.wildcard && !had {
		l.markWanted(st.scope)
	}
}

// flush sends all that may be sent now and gives the time until there may be
// more. The lock is never held while sending.
func (s *Server) flush(st *stream, wire interface{ SendMsg(any) error }) (time.Duration, error) {
	for _, request := range s.timely(st) {
		s.handle(st, request)
	}
	for {
		var r *response
		var wait time.Duration
		s.locked(func() {
			now := time.Now()
			next, until := st.next(now)
			if next == nil {
				s.settle(st)
			}
			r, wait = next, waitFor(until, now)
		})
		if r == nil {
			return wait, nil
		}
		f := r.frame()
		if st.world != nil {
			f = r.worldFrame()
		}
		if err := wire.SendMsg(f); err != nil {
			return 0, err
		}
		s.metrics.sent(r.typ, f.buffers.Len())
	}
}

// waitFor gives the time to until, an hour when nothing is planned.
func waitFor(until, now time.Time) time.Duration {
	if until.IsZero() {
		return time.Hour
	}
	return max(until.Sub(now), time.Millisecond)
}
