package server

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

const (
	cds = xds.ClusterType
	eds = xds.EndpointType
	lds = xds.ListenerType
	rds = xds.RouteType
	sds = xds.SecretType
)

// line is a client in this goroutine: what it is sent it accepts when it is told to, so that
// what the server does for it can be counted.
type line struct {
	*stream
	s      *Server
	answer []*delta.Request // that the client is to give
	nack   string           // what it says to every resource; "" accepts them
	// says is what it says to a response, nil for nack; sent counts responses.
	says func(probe bool) string
	// rejects is how the names of clusters end that it rejects beside; "" for none.
	rejects string
	sent    int
	mute    bool // it answers nothing
}

// at is the session of a stream.
func (s *Server) at(st *stream) session { return session{s.core, st} }

// dial connects a client that asks for all clusters and listeners, and for tables.
func (s *Server) dial(t testing.TB, cluster string, tables ...string) *line {
	t.Helper()
	l := s.lift(t, &corev3.Node{Id: "test", Cluster: cluster})
	l.answer = append(l.answer, &delta.Request{TypeUrl: lds}, &delta.Request{TypeUrl: rds, ResourceNamesSubscribe: tables})
	l.turn(t)
	return l
}

// lift opens the stream of a client that is to ask for all clusters.
func (s *Server) lift(t testing.TB, node *corev3.Node) *line {
	t.Helper()
	return s.liftIn(t, node, false)
}

// liftIn is lift in either protocol.
func (s *Server) liftIn(t testing.TB, node *corev3.Node, ofWorld bool) *line {
	t.Helper()
	ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}})
	first := &delta.Request{TypeUrl: cds, Node: node}
	st, err := s.open(ctx, first, ofWorld)
	if err != nil {
		t.Fatal(err)
	}
	return &line{stream: st, s: s, answer: []*delta.Request{first}}
}

// endless is more rounds than any client of these tests can bring about.
const endless = 10_000

// turn sends and answers until there is nothing more to do.
func (l *line) turn(t testing.TB) {
	t.Helper()
	for round := 0; ; round++ {
		if round == endless {
			t.Fatalf("after %d messages it is still sent more", l.sent)
		}
		if _, err := l.s.at(l.stream).flush(l); err != nil {
			t.Fatal(err)
		}
		if len(l.answer) == 0 {
			return
		}
		for _, request := range l.answer {
			if err := l.s.at(l.stream).handle(request); err != nil {
				t.Fatal(err)
			}
		}
		l.answer = nil
	}
}

// SendMsg takes a response.
func (l *line) SendMsg(message any) error {
	if l.sent++; l.mute {
		return nil
	}
	words := l.nack
	if l.says != nil {
		words = l.says(bytes.Contains(message.(connect.Frame).Materialize(), []byte(xds.ProbeMark)))
	}
	f := message.(connect.Frame)
	if l.rejects != "" && words == "" && l.hates(f) {
		words = fmt.Sprintf("no %d", l.sent) // never the same words
	}
	l.answer = append(l.answer, replyTo(f, words))
	return nil
}

// hates reports whether a response has a cluster that the client rejects.
func (l *line) hates(f connect.Frame) bool {
	response := &discoveryv3.DeltaDiscoveryResponse{}
	if err := proto.Unmarshal(f.Materialize(), response); err != nil {
		panic(err)
	}
	return response.TypeUrl == cds && slices.ContainsFunc(response.Resources, func(r *discoveryv3.Resource) bool { return strings.HasSuffix(r.Name, l.rejects) })
}

// replyTo is the answer to a response: that it is accepted, or rejected with these words.
// Its type and nonce, fields 4 and 5, are in the last buffer.
func replyTo(f connect.Frame, nack string) *delta.Request {
	answer := &delta.Request{}
	if nack != "" {
		answer.ErrorDetail = status.New(codes.Internal, nack).Proto()
	}
	rest := f.BufferSlice[len(f.BufferSlice)-1].ReadOnlyData()
	for len(rest) > 0 {
		number, _, tag := protowire.ConsumeTag(rest)
		value, n := protowire.ConsumeBytes(rest[tag:])
		switch number {
		case 4:
			answer.TypeUrl = string(value)
		case 5:
			answer.ResponseNonce = string(value)
		}
		rest = rest[tag+n:]
	}
	return answer
}

// cpuTime is what the process has used so far, on all cores.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
