package server

import (
	"context"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/connect"
)

// loadReports implements Envoy's load reporting service (LRS). The bootstrap of a canary names this service.
// The canary reports how many requests each cluster had since the last report, and how many of them failed.
type loadReports struct {
	*core
	transport *connect.Transport
	intake    *connect.Intake
	stopping  <-chan struct{}
}

// StreamLoadStats receives the load reports of one Envoy until the stream ends. It requests reports only from
// canaries, and only if Staging.MaxErrors is set. The error is why the stream ends. It is nil if the client closed
// the stream.
func (l loadReports) StreamLoadStats(reports lrsv3.LoadReportingService_StreamLoadStatsServer) (err error) {
	defer l.rescue(&err)
	ctx := reports.Context()
	defer connect.Occupy(ctx)()
	messages, failed := connect.Receive(ctx, reports)
	var from *stream
	defer func() {
		l.tellInvalid(ctx, l.transport, from, err)
		if from != nil {
			l.endReports(from)
		}
	}()
	for {
		select {
		case m := <-messages:
			var request *lrsv3.LoadStatsRequest
			if request, err = l.decode(ctx, m); err != nil {
				return err
			}
			if from != nil {
				l.staging.count(from, request.GetClusterStats(), time.Now())
				continue
			}
			if from, err = l.beginReports(ctx, request.GetNode()); err != nil {
				return err
			}
			if err = l.ask(reports, from); err != nil {
				return err
			}
		case err := <-failed:
			return connect.Ended(err)
		case <-l.stopping:
			return connect.ErrStopping
		}
	}
}

// decode decodes a message with load reports. A large message waits until few enough other large messages are
// being decoded (connect.Intake). The error means that the message is invalid, ctx ended or the server stops.
func (l loadReports) decode(ctx context.Context, m connect.Message) (*lrsv3.LoadStatsRequest, error) {
	request := &lrsv3.LoadStatsRequest{}
	return request, l.intake.Decode(ctx, m, func(data []byte) error {
		if err := proto.Unmarshal(data, request); err != nil {
			return connect.Invalid{Err: status.Errorf(codes.Internal, "a load report cannot be read: %v", err)}
		}
		return nil
	})
}

// beginReports is called when an Envoy opens a stream for load reports. It counts the stream for the limits and
// in staging.reporters. Nothing but the request for reports is sent on the stream, so the result has no plan. The
// error means that node.cluster is too long, that the client's identity does not allow the Gateway of its
// node.cluster, or that a limit is exceeded.
func (l loadReports) beginReports(ctx context.Context, node *corev3.Node) (*stream, error) {
	if len(node.GetCluster()) > maxCluster {
		return nil, connect.Invalid{Err: status.Errorf(codes.InvalidArgument, "node.cluster is longer than %d bytes", maxCluster)}
	}
	who, address := l.transport.Identify(ctx)
	st := &stream{node: cut(node.GetId()), cluster: node.GetCluster(), canary: isCanary(node), identity: who.String(), address: address}
	if !who.May(st.cluster) {
		reason := who.Denial(st.cluster)
		l.refused.Refuse("identity", admin.RejectedClient{Identity: st.identity, Node: st.node, Cluster: st.cluster, Peer: connect.HostOf(address), Reason: reason})
		return nil, status.Error(codes.PermissionDenied, reason)
	}
	var err error
	l.locked(func() {
		if err = l.admitStream(st.client()); err == nil {
			l.staging.reporters[reporterOf(st)]++
		}
	})
	l.staging.poke()
	if err != nil {
		return nil, l.overLimit(st, err)
	}
	return st, nil
}

// endReports undoes what beginReports counted for st.
func (l loadReports) endReports(st *stream) {
	l.locked(func() {
		l.release(st.client(), st.usage)
		key := reporterOf(st)
		if l.staging.reporters[key]--; l.staging.reporters[key] == 0 {
			delete(l.staging.reporters, key)
		}
	})
}

// ask requests load reports about all clusters from the Envoy, if the Envoy is a canary and Staging.MaxErrors is
// set. Otherwise it does nothing. The error means that the stream failed.
func (l loadReports) ask(reports lrsv3.LoadReportingService_StreamLoadStatsServer, from *stream) error {
	if !from.canary || l.options.Staging.MaxErrors == 0 {
		return nil
	}
	return reports.Send(&lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(ReportInterval)})
}
