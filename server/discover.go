package server

import (
	"context"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxWarned bounds how many unknown values of node.cluster the log warns of, until gatefold restarts.
const maxWarned = 1000

// StreamAggregatedResources serves a client of the state-of-the-world protocol until its stream ends. The error
// is why the stream ends; it is nil if the client closed the stream.
func (s *Server) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.discover(connect.NewWorldWire(stream), true)
}

// DeltaAggregatedResources serves a client of the incremental protocol until its stream ends. The error is why
// the stream ends; it is nil if the client closed the stream.
func (s *Server) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return s.discover(connect.DeltaWire{ServerStream: stream}, false)
}

// discover serves one client until its stream ends. ofWorld is true for the state-of-the-world protocol, and false
// for the incremental one. The error is why the stream ends: for example, the client exceeds a limit, or the server
// stops. It is nil if the client closed the stream.
func (s *Server) discover(wire connect.Wire, ofWorld bool) (err error) {
	defer s.rescue(&err)
	ctx := wire.Context()
	defer connect.Occupy(ctx)()
	arrived, done, err := s.intake.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	messages, failed := connect.Receive(ctx, wire)
	var st *stream
	defer func() {
		s.tellInvalid(ctx, s.transport, st, err)
		if st != nil {
			session{s.core, st}.leave()
		}
	}()
	select {
	case m := <-messages:
		arrived()
		err := s.intake.Read(wire, m, func(request *delta.Request) (err error) {
			if st, err = s.open(ctx, request, ofWorld); err == nil {
				err = session{s.core, st}.handle(request)
			}
			return err
		})
		if err != nil {
			return err
		}
	case err := <-failed:
		return connect.Ended(err)
	case <-s.stopping:
		return connect.ErrStopping
	}
	done()
	return s.converse(st, wire, messages, failed)
}

// converse serves a stream from its second message on. The error is why the stream ends. It is nil if the
// client closed the stream.
func (s *Server) converse(st *stream, wire connect.Wire, messages <-chan connect.Message, failed <-chan error) error {
	book := func(request *delta.Request) error { return session{s.core, st}.handle(request) }
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, err := session{s.core, st}.flush(wire)
		if err != nil {
			return err
		}
		timer.Reset(wait)
		select {
		case m := <-messages:
			if err := s.intake.Read(wire, m, book); err != nil {
				return err
			}
		case <-st.wake:
		case <-timer.C:
		case err := <-failed:
			return connect.Ended(err)
		case <-s.stopping:
			return connect.ErrStopping
		}
	}
}

// open makes the stream of a client from its first request, and adds the stream to the scope that node.cluster
// names (a Gateway, or all Gateways). ofWorld is true for the state-of-the-world protocol. The error means that the
// request is invalid, the Envoy is too old, the client is no Envoy, the client's identity does not allow the Gateway, or a limit is
// exceeded.
func (s *Server) open(ctx context.Context, first *delta.Request, ofWorld bool) (*stream, error) {
	node := first.GetNode()
	if first.GetTypeUrl() == "" {
		return nil, connect.Invalid{Err: status.Error(codes.InvalidArgument, "the first request has no type_url")}
	}
	gateway := node.GetCluster()
	if len(gateway) > maxCluster {
		return nil, connect.Invalid{Err: status.Errorf(codes.InvalidArgument, "node.cluster is longer than %d bytes", maxCluster)}
	}
	who, from := s.transport.Identify(ctx)
	id := cut(node.GetId())
	if !who.May(gateway) {
		reason := who.Denial(gateway)
		s.refused.Refuse("identity", admin.RejectedClient{Identity: who.String(), Node: id, Cluster: gateway, Peer: connect.HostOf(from), Reason: reason})
		return nil, status.Error(codes.PermissionDenied, reason)
	}
	if reason := proxyless(node); reason != "" {
		s.refused.Refuse("client", admin.RejectedClient{Identity: who.String(), Node: id, Cluster: gateway, Peer: connect.HostOf(from), Reason: reason})
		return nil, status.Error(codes.FailedPrecondition, reason)
	}
	version := cut(envoyVersion(first))
	if xds.ReleaseOf(version).Before(oldestEnvoy()) {
		reason := tooOld(version)
		s.refused.Refuse("version", admin.RejectedClient{Identity: who.String(), Node: id, Cluster: gateway, Peer: connect.HostOf(from), Reason: reason})
		return nil, status.Error(codes.FailedPrecondition, reason)
	}
	st := &stream{
		node: id, cluster: gateway, canary: isCanary(node), version: version, peer: from.String(), identity: who.String(),
		address: from, claim: cut(node.GetMetadata().GetFields()[envoy.AdminAddressKey].GetStringValue()),
		wake: make(chan struct{}, 1), opened: time.Now(), ofWorld: ofWorld, isEnvoy: node.GetUserAgentName() == "envoy",
	}
	unknown, err := s.join(st)
	if err != nil {
		return nil, s.overLimit(st, err)
	}
	s.metrics.Connected(st.old())
	session{s.core, st}.tellOld()
	s.log.Info().Str("node", st.node).Str("cluster", gateway).Str("peer", st.peer).
		Str("identity", st.identity).Str("envoy", st.version).Bool("canary", st.canary).Msg("Envoy connected")
	if unknown {
		s.log.Warn().Str("node", st.node).Str("cluster", gateway).
			Msg("an Envoy asks for a Gateway that has nothing to serve; it is sent nothing")
	}
	return st, nil
}

// join adds a new stream to its scope: the streams of one Gateway, or of all Gateways. It also counts the
// stream for the verdicts, which say whether the Envoys of a Gateway accepted its configuration. The error means that
// the client has too many streams.
//
// The result unknown is true if the scope never had a resource, so that the log should warn of the stream's
// node.cluster. It is true only once for each value of node.cluster, for at most maxWarned values, and only after the
// first Publish.
func (s *Server) join(st *stream) (unknown bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admitStream(st.client()); err != nil {
		return false, err
	}
	s.streamID++
	st.id = s.streamID
	st.scope = s.union
	if strings.Contains(st.cluster, "/") {
		st.scope = s.scopeOf(st.cluster)
	}
	st.scope.joinStage(st)
	st.Plan = delta.New(st.scope.targetOf(st), delta.Options{
		Opened: st.opened, Gateway: st.scope.name, Wait: s.options.BarrierWait, BindRetry: s.options.BindRetry,
		Envoy: st.isEnvoy, World: st.ofWorld, Version: st.version,
	})
	st.Withhold(!st.canary && st.scope.stage != nil && st.scope.stage.withheld)
	st.scope.streams[st] = struct{}{}
	s.holes.add(st, 1)
	st.scope.tally.busy++
	s.verdicts.recount(st)
	if st.old() {
		s.verdicts.restate(st.scope)
	}
	s.verdicts.touched[st.scope] = struct{}{}
	s.verdicts.judgeTouched()
	if !s.published || st.scope.Known() || s.warned[st.cluster] || len(s.warned) >= maxWarned {
		return false, nil
	}
	s.warned[st.cluster] = true
	return true, nil
}
