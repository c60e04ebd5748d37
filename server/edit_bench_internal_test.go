package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/listen"
)

// shaped is a server with a shape published, and a Result for each of two forms of its
// middle route.
type shaped struct {
	*Server
	edits [2]translate.Result
}

// editShapes are cases.Shapes; GATEFOLD_LARGE adds those of 100,000 routes.
func editShapes() []cases.Shape { return cases.Shapes(os.Getenv("GATEFOLD_LARGE") != "") }

func publishShape(t testing.TB, s cases.Shape, edit func(i int, r *translate.Result)) *shaped {
	t.Helper()
	all, route, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	out := &shaped{Server: New(Options{}, zerolog.Nop())}
	translator := translate.New(translate.Options{})
	out.Publish(translator.Apply(store.Change{Set: all}))
	for i := range out.edits {
		out.edits[i] = translator.Apply(store.Change{Set: []*manifest.Object{route(s.Routes/2, i+1)}})
		edit(i, &out.edits[i])
	}
	return out
}

// pipe is a wire in this process: its other end takes and acknowledges all it gets, but
// reads no resource.
type pipe struct {
	ctx      context.Context
	requests chan *delta.Request
	sent     chan int // bytes of each response
}

func newPipe(ctx context.Context) *pipe {
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}})
	p := &pipe{ctx, make(chan *delta.Request, 64), make(chan int, 64)}
	for i, typ := range delta.Types()[1:] {
		first := &delta.Request{TypeUrl: typ}
		if i == 0 {
			first.Node = &corev3.Node{Id: "bench", Cluster: "default/eg"}
		}
		if typ == rds {
			first.ResourceNamesSubscribe = []string{listen.RoutesName("default/eg", 8080, "", nil)}
		}
		p.requests <- first
	}
	return p
}

// Context implements wire.
func (p *pipe) Context() context.Context { return p.ctx }

// RecvMsg implements wire.
func (p *pipe) RecvMsg(into any) error {
	select {
	case r := <-p.requests:
		data, err := proto.Marshal(r)
		into.(*connect.Message).BufferSlice = mem.BufferSlice{mem.SliceBuffer(data)}
		return err
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (p *pipe) Decode(message []byte) (*delta.Request, error) {
	return connect.DeltaWire{}.Decode(message)
}

// SendMsg implements wire.
func (p *pipe) SendMsg(message any) error {
	f := message.(connect.Frame)
	p.requests <- replyTo(f, "")
	p.sent <- f.BufferSlice.Len()
	return nil
}

// BenchmarkShapeEdit measures one edited leaf from Result to the bytes that a stream is
// handed, and their ACK; gRPC is not in it. The last shapes have a hundred streams,
// or a problem for each route.
func BenchmarkShapeEdit(b *testing.B) {
	for _, s := range editShapes() {
		b.Run(s.String(), func(b *testing.B) { benchmarkEdit(b, s, 1, func(int, *translate.Result) {}) })
	}
	for _, n := range []int{1000, 10_000} {
		s := cases.Shape{Routes: n, Hosts: 100}
		b.Run(s.String()+"/streams=100", func(b *testing.B) { benchmarkEdit(b, s, 100, func(int, *translate.Result) {}) })
		b.Run(s.String()+"/problems", func(b *testing.B) {
			problems := make([]manifest.Problem, n)
			for i := range problems {
				problems[i] = manifest.Problem{Code: "Any", Severity: manifest.Warning, Object: manifest.Key{Kind: "HTTPRoute", Name: fmt.Sprint(i)}}
			}
			benchmarkEdit(b, s, 1, func(_ int, r *translate.Result) { r.Problems = problems })
		})
	}
}

func benchmarkEdit(b *testing.B, s cases.Shape, streams int, edit func(int, *translate.Result)) {
	w := publishShape(b, s, edit)
	pipes := make([]*pipe, streams)
	for i := range pipes {
		pipes[i] = newPipe(b.Context())
		go func() {
			if err := w.discover(pipes[i], false); b.Context().Err() == nil {
				b.Error(err)
			}
		}()
	}
	w.settle(streams)
	for _, p := range pipes {
		for len(p.sent) > 0 {
			<-p.sent
		}
	}
	settled := func() {
		for _, p := range pipes {
			<-p.sent
		}
	}
	b.ReportAllocs()
	begin := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		w.Publish(w.edits[i%2])
		settled()
	}
	b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/float64(b.N), "cpu-µs/op")
}

// settle waits until so many streams hold what is published.
func (w *shaped) settle(streams int) {
	for held := -1; held < streams; time.Sleep(time.Millisecond) {
		held = 0
		w.locked(func() {
			for st := range w.scopes["default/eg"].streams {
				held += number(st.state.Idle && len(st.lacks) == 0)
			}
		})
	}
}
