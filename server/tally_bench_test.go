package server

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/peer"

	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate"
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
	sent int
	mute bool // it answers nothing
}

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
		words = l.says(bytes.Contains(message.(connect.Frame).Materialize(), []byte(probeMark)))
	}
	l.answer = append(l.answer, replyTo(message.(connect.Frame), words))
	return nil
}

// BenchmarkStreamsEdit is one edit of a small table for so many streams, of one Gateway
// or of all, to the last answer; gRPC is not in it.
func BenchmarkStreamsEdit(b *testing.B) {
	for _, cluster := range []string{"shop/a", "all"} {
		for _, streams := range []int{100, 1000, 4000} {
			b.Run(fmt.Sprintf("cluster=%s/streams=%d", cluster, streams), func(b *testing.B) {
				r := startLogged(b, Options{}, zerolog.Nop())
				r.Publish(translate.Result{Delta: updates("Cluster web@1", "Listener http@1", "RouteConfiguration r@1")})
				lines := make([]*line, streams)
				for i := range lines {
					lines[i] = r.dial(b, cluster, "r")
				}
				begin := cpuTime(b)
				for i := 0; b.Loop(); i++ {
					r.Publish(translate.Result{Delta: updates(fmt.Sprintf("RouteConfiguration r@%d", i+2))})
					for _, l := range lines {
						l.turn(b)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/float64(b.N*streams), "cpu-ns/stream")
			})
		}
	}
}
