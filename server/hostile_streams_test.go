package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/ir"
)

// Streams of hostile clients, several at a time, say anything in any order: what they ask for
// and forget, NACKs with any words and nonces, wildcards, huge names and very many, state of
// the world and incremental, read or not, ended or left half open. Beside them, no request to
// an Envoy fails, each edit is served, and of the clients nothing is left.
func TestHostileStreams(t *testing.T) {
	rounds, seed := testsize.Of(t, 4), testsize.Seed(t)
	f := newLiars(t)
	f.honest("edge")
	f.leads("/bb", "bb.example")
	f.leads("/aa", "aa.example")
	stop := f.steady("/aa", "aa.example")
	other := envoytest.FreePort(t)
	routines, heap := runtime.NumGoroutine(), heapNow()
	for round := range rounds {
		f.listens(other, round%2 == 0)
		var group sync.WaitGroup
		for n := range 6 {
			group.Go(func() { newHostile(f, other, seed+uint64(round), uint64(n)).session() })
		}
		host := fmt.Sprintf("r%d.example", round)
		f.route("bb", host, "")
		f.leads("/bb", host)
		group.Wait()
		if grown := heapNow() - heap; grown > 256<<20 {
			t.Fatalf("round %d: the heap grew by %d MiB", round, grown>>20)
		}
	}
	stop()
	f.until("the hostile streams are gone", func() bool {
		return len(f.streams()) == 1
	})
	envoytest.Wait(t, "all goroutines to end", func() error {
		if now := runtime.NumGoroutine(); now > routines+10 {
			return fmt.Errorf("%d, before %d", now, routines)
		}
		return nil
	})
	if left := heapNow() - heap; left > 32<<20 {
		t.Errorf("%d MiB are left of them", left>>20)
	}
	f.clean("bb")
}

// heapNow is the live heap, in bytes.
func heapNow() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// hostile is a client that does what a seed says.
type hostile struct {
	*rand.Rand
	f     *folded
	known []string // names that there are
	ports []int    // of the listener that stays, and of the one that comes and goes
	asked []string

	mu     sync.Mutex
	nonces map[string][]string // by type
}

// listens gives the Gateway another listener, or takes it away.
func (f *folded) listens(other int, comes bool) {
	text := string(f.files["gateway.yaml"])
	text, _, _ = strings.Cut(text, "\n  - {name: other")
	text = strings.TrimSuffix(text, "\n") + "\n"
	text = strings.Replace(text, "listeners: [{name: http, ", "listeners:\n  - {name: http, ", 1)
	text = strings.Replace(text, "protocol: HTTP}]", "protocol: HTTP}", 1)
	if comes {
		text += fmt.Sprintf("  - {name: other, port: %d, protocol: HTTP}\n", other)
	}
	f.apply(map[string]string{"gateway.yaml": text})
}

func newHostile(f *folded, other int, round, n uint64) *hostile {
	_, port, _ := strings.Cut(f.address, ":")
	number, _ := strconv.Atoi(port)
	return &hostile{
		ports: []int{number, other},
		Rand:  rand.New(rand.NewPCG(round, n)), f: f, nonces: map[string][]string{},
		known: []string{"*", "", "default/eg/http-1/filters-2", "default/eg/https-443/*.a.test/filters-2", "default/other/http-" + port, "default/eg/http-" + port, ir.TableName("default/eg/http-"+port, ir.FilterGeneration), "default/eg", probeMark, "\u00ff"},
	}
}

// session opens a stream, says things, and leaves it in some way.
func (h *hostile) session() {
	conn, err := grpc.NewClient(h.f.xds.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.f.t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	for range 1 + h.IntN(3) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // one that does not read may say no more
		say, hear, err := h.stream(ctx, discoveryv3.NewAggregatedDiscoveryServiceClient(conn))
		if err == nil {
			h.speak(ctx, say, hear)
		}
		cancel()
	}
}

// stream opens a stream of either protocol.
func (h *hostile) stream(ctx context.Context, ads discoveryv3.AggregatedDiscoveryServiceClient) (say func(*delta.Request) error, hear func() error, err error) {
	if h.IntN(3) > 0 {
		s, err := ads.DeltaAggregatedResources(ctx)
		return func(r *delta.Request) error { return s.Send(r) }, func() error {
			r, err := s.Recv()
			h.heard(r.GetTypeUrl(), r.GetNonce())
			return err
		}, err
	}
	s, err := ads.StreamAggregatedResources(ctx)
	return func(r *delta.Request) error {
			return s.Send(&discoveryv3.DiscoveryRequest{
				Node: r.Node, TypeUrl: r.TypeUrl, ResourceNames: r.ResourceNamesSubscribe,
				ResponseNonce: r.ResponseNonce, ErrorDetail: r.ErrorDetail, VersionInfo: h.words(),
			})
		}, func() error {
			r, err := s.Recv()
			h.heard(r.GetTypeUrl(), r.GetNonce())
			return err
		}, err
}

func (h *hostile) heard(typ, nonce string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nonces[typ] = append(h.nonces[typ], nonce)
}

// speak says things until the stream ends, or it has had enough.
func (h *hostile) speak(ctx context.Context, say func(*delta.Request) error, hear func() error) {
	reads := h.IntN(4) > 0
	if reads {
		go func() {
			for hear() == nil {
				continue
			}
		}()
	}
	first := true
	for range h.IntN(60) {
		r := h.request()
		if first {
			first = false
			r.Node = &corev3.Node{Id: h.words(), Cluster: h.pick("default/eg", "default/eg", "all", "", "no/such"), UserAgentName: h.pick("envoy", "other")}
		}
		if say(r) != nil || ctx.Err() != nil {
			return
		}
		if reads && h.IntN(3) == 0 {
			time.Sleep(time.Millisecond) // for answers to come
		}
	}
}

func (h *hostile) pick(of ...string) string { return of[h.IntN(len(of))] }

// words are what a client may say anywhere.
func (h *hostile) words() string {
	return h.pick("", "no", probeMark, "missing ): "+probeMark, "cannot bind 'x': y", "Error adding/updating listener(s) default/eg: no",
		"Didn't find a registered implementation", strings.Repeat("x", h.IntN(1<<12)), "a\nb\x1b[31m")
}

// request makes a request.
func (h *hostile) request() *delta.Request {
	r := &delta.Request{TypeUrl: h.pick(append(delta.Types(), rds, rds, "type.googleapis.com/x")...)}
	if h.IntN(2) == 0 {
		r.ResourceNamesSubscribe = append(h.names(), h.gone()...)
		h.asked = append(h.asked, r.ResourceNamesSubscribe...)
	}
	if h.IntN(4) == 0 {
		r.ResourceNamesUnsubscribe = slices.Clone(h.asked)
		slices.Reverse(r.ResourceNamesUnsubscribe)
		h.asked = h.names()
	}
	if h.IntN(6) == 0 {
		r.InitialResourceVersions = map[string]string{}
		for _, name := range append(h.names(), h.gone()...) {
			r.InitialResourceVersions[name] = h.words()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if nonces := h.nonces[r.TypeUrl]; len(nonces) > 0 && h.IntN(5) > 0 {
		r.ResponseNonce = nonces[max(0, len(nonces)-1-h.IntN(3))]
	} else {
		r.ResponseNonce = h.pick("", "1", "zz")
	}
	if h.IntN(2) == 0 {
		r.ErrorDetail = status.New(codes.Code(h.IntN(17)), h.words()).Proto()
	}
	return r
}

// gone are names of tables of listeners that come and go, or that no folder ever had.
func (h *hostile) gone() (names []string) {
	for range h.IntN(3) {
		names = append(names, ir.TableName(fmt.Sprintf("default/eg/%s-%d", h.pick("http", "https"), h.ports[h.IntN(2)]), h.IntN(4)))
	}
	if h.IntN(8) == 0 {
		for i := range h.IntN(20_000) {
			names = append(names, fmt.Sprintf("default/eg/https-443/%d.test/filters-2", i))
		}
	}
	return names
}

// names are a few that there are, very many that there are not, or huge ones.
func (h *hostile) names() (names []string) {
	switch h.IntN(4) {
	case 0:
		return namesFrom(h.IntN(200)*1000, h.IntN(20_000))
	case 1:
		return []string{strings.Repeat("x", h.IntN(1<<20))}
	}
	for range h.IntN(4) {
		names = append(names, h.pick(h.known...))
	}
	return names
}
