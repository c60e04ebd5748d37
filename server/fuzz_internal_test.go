package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
)

// script is a delta stream, without a network, of a client that says what bytes tell
// it to and then leaves.
type script struct {
	grpc.ServerStream // nil: nothing else is called
	ctx               context.Context
	rest              []byte
	first             bool

	mu     sync.Mutex
	nonces []string
	got    []*discoveryv3.DeltaDiscoveryResponse
}

func newScript(ctx context.Context, text []byte) *script {
	at := peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}})
	return &script{ctx: at, rest: text, first: true}
}

func (s *script) Context() context.Context                         { return s.ctx }
func (s *script) Send(r *discoveryv3.DeltaDiscoveryResponse) error { return s.SendMsg(r) }

// SendMsg remembers what was sent, and that it can be read.
func (s *script) SendMsg(message any) error {
	f, ok := message.(connect.Frame)
	if !ok {
		return fmt.Errorf("%T is sent", message)
	}
	response := &discoveryv3.DeltaDiscoveryResponse{}
	if err := proto.Unmarshal(f.BufferSlice.Materialize(), response); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonces, s.got = append(s.nonces, response.Nonce), append(s.got, response)
	return nil
}

// take returns the next n bytes, zeros where there are none.
func (s *script) take(n int) []byte {
	out := make([]byte, n)
	s.rest = s.rest[copy(out, s.rest):]
	return out
}

func (s *script) name() string {
	names := []string{"web", "http", "http/edge", "", "*", "gone", "-", "\u00ff"}
	at := int(s.take(1)[0])
	if at < len(names) {
		return names[at]
	}
	return strings.ToValidUTF8(string(s.take(at%16)), "?")
}

func (s *script) names() []string {
	var out []string
	for range s.take(1)[0] % 4 {
		out = append(out, s.name())
	}
	return out
}

func (s *script) nonce() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if which := int(s.take(1)[0]); which > 0 && which <= len(s.nonces) {
		return s.nonces[len(s.nonces)-which]
	}
	return ""
}

// RecvMsg returns one request, encoded.
func (s *script) RecvMsg(into any) error {
	r, err := s.Recv()
	if err != nil {
		return err
	}
	data, err := proto.Marshal(r)
	into.(*connect.Message).BufferSlice = mem.BufferSlice{mem.SliceBuffer(data)}
	return err
}

// Recv makes one request of the bytes that are left.
func (s *script) Recv() (*discoveryv3.DeltaDiscoveryRequest, error) {
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	r, kind := &discoveryv3.DeltaDiscoveryRequest{}, s.take(1)[0]
	if kind == 255 { // what gRPC makes of any bytes
		if err := proto.Unmarshal(s.take(64), r); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		return r, nil
	}
	types := append(delta.Types(), "", "type.googleapis.com/x")
	r.TypeUrl = types[int(kind)%len(types)]
	r.ResourceNamesSubscribe, r.ResourceNamesUnsubscribe = s.names(), s.names()
	if kind&16 != 0 {
		r.ResponseNonce = s.nonce()
	}
	if kind&32 != 0 {
		r.ErrorDetail = status.New(codes.Code(s.take(1)[0]), s.name()+": Duplicate route config route "+s.name()).Proto()
	}
	if kind&64 != 0 {
		r.InitialResourceVersions = map[string]string{}
		for _, name := range s.names() {
			r.InitialResourceVersions[name] = s.name()
		}
	}
	if s.first || kind&128 != 0 {
		s.first = false
		r.Node = &corev3.Node{Id: s.name(), Cluster: []string{"", "shop/a", "shop/none", "all"}[s.take(1)[0]%4]}
	}
	return r, nil
}

// FuzzStream lets a hostile client say anything in any order. It may be refused; it may
// not bring about a mistake, and a client that comes after it gets everything.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"\x00\x00\x00\x00\x01", "\x00\x01\x04\x00\x00\x01\x10\x00\x00\x01", "\x23\x01\x01\x00\x02\x03\x00\x01\x33\x00\x00\x01\x0d\x01\x01",
		"\x40\x02\x00\x01\x00\x02\x00\x01\x01\x01\x01\xff\x0a\x03abc", "\x03\x02\x00\x01\x00\x00\x01\x33\x00\x00\x01\x0d\x00\x00\x03\x00\x01\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 2048 {
			return
		}
		s := New(Options{}, zerolog.Nop())
		all := []string{"Cluster web@1", "ClusterLoadAssignment web@1", "Listener http@1", "RouteConfiguration http@1", "Secret web@1"}
		update := func(changes ...string) {
			var result translate.Result
			for _, change := range changes {
				result.Delta = append(result.Delta, deltatest.Update(change))
			}
			s.Publish(result)
		}
		update(all...)
		hostile := newScript(t.Context(), text)
		if err := s.DeltaAggregatedResources(hostile); status.Code(err) == codes.Internal && strings.Contains(err.Error(), "mistake") {
			t.Error(err)
		}
		update("Cluster web@2")
		// Clusters, then the listener; each waits for what was sent before it.
		innocent := newScript(t.Context(), []byte("\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x10\x00\x00\x01\x12\x00\x00\x01"))
		if err := s.DeltaAggregatedResources(innocent); err != nil {
			t.Error(err)
		}
		if got := innocent.got; len(got) == 0 || got[0].TypeUrl != cds || len(got[0].Resources) != 1 || got[0].Resources[0].Version != deltatest.Update("Cluster web@2").Resource.Version {
			t.Errorf("the next client got %d responses: %v", len(got), got)
		}
		if len(s.union.streams)+len(s.scopes["shop/a"].streams)+s.strangers > 0 {
			t.Error("a stream is kept, or names of one")
		}
	})
}

// FuzzPages asks for any page in any way: the answer is JSON and no mistake.
func FuzzPages(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/explain?url=http://a.test/x&header=x:1", "/api/v1/explain?url=%zz&method=G%20T&gateway=n/g", "/api/v1/explain?url=http://[::1]:99999/%2f..//a?b#c",
		"/api/v1/explain?url=//a", "/api/v1/status/HTTPRoute/n/r", "/api/v1/status//x", "/api/v1/xds?x=;", "/../healthz", "/metrics", "/api/v1/problems", "/api/v1/envoys", "/api/v1/reload",
	} {
		f.Add("GET", seed, "127.0.0.1")
		f.Add("PUT", seed, "evil.example")
	}
	s := New(Options{}, zerolog.Nop())
	s.Publish(translate.Result{View: fuzzedView})
	pages := admin.NewHandler(s.adminOptions(), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
	f.Fuzz(func(t *testing.T, method, target, host string) {
		at, err := url.ParseRequestURI(target)
		if err != nil || method == "" {
			return
		}
		r := (&http.Request{Method: method, URL: at, Host: host, Header: http.Header{}, Body: http.NoBody}).WithContext(t.Context())
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		codes := []int{http.StatusOK, http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound,
			http.StatusMethodNotAllowed, http.StatusServiceUnavailable}
		if !slices.Contains(codes, w.Code) {
			t.Errorf("%s %s: code %d", method, target, w.Code)
		}
		if w.Code == http.StatusOK && !namesHost(host) {
			t.Errorf("host %q is answered", host)
		}
		if w.Header().Get("Content-Type") == "application/json" && method != http.MethodHead && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: %s", method, target, w.Body)
		}
	})
}

// namesHost reports whether a Host header is an IP address or localhost, with or without a port.
func namesHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(strings.SplitN(strings.Trim(host, "[]"), "%", 2)[0]) != nil
}

// fuzzedView is a View with one rule that answers 500.
func fuzzedView() *ir.View {
	rule := &ir.Rule{
		Name: "one", Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}}, Position: []int{0, 0},
		Source: &ir.Origin{Key: manifest.Key{Kind: "HTTPRoute", Namespace: "n", Name: "r"}}, Action: ir.Action{Respond: &ir.Respond{Status: 500}},
	}
	port := ir.PortView{Port: &ir.Port{Name: "n/g/http", Gateway: "n/g", Port: 80}, Hosts: []ir.HostView{{Domain: "*", Rules: slices.Values([]*ir.Rule{rule}), Len: 1}}}
	return &ir.View{Gateways: []ir.GatewayView{{Name: "n/g", Ports: []ir.PortView{port}}}}
}
