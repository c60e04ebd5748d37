package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// probeMark is in what an Envoy says of a probe whose parts it takes.
const probeMark = xds.ProbeMark

const (
	cds = xds.ClusterType
	eds = xds.EndpointType
	lds = xds.ListenerType
	rds = xds.RouteType
	sds = xds.SecretType
)

// patience bounds what a test waits for; it is reached only by a fault.
const patience = 2 * time.Minute

// running is a server that serves on free ports.
type running struct {
	*Server
	t          testing.TB
	xds, admin net.Addr
	stop       func() // and waits for the end
}

func start(t testing.TB, options Options) *running {
	t.Helper()
	return startLogged(t, options, zerolog.New(zerolog.NewTestWriter(t)))
}

func startLogged(t testing.TB, options Options, log zerolog.Logger) *running {
	t.Helper()
	bound := make(chan [2]net.Addr, 1)
	options.BarrierWait = cmp.Or(options.BarrierWait, time.Hour) // no test goes on because it ended
	options.XDSAddress, options.AdminAddress = cmp.Or(options.XDSAddress, "127.0.0.1:0"), cmp.Or(options.AdminAddress, "127.0.0.1:0")
	options.Listening = func(xds, admin net.Addr) { bound <- [2]net.Addr{xds, admin} }
	s := New(options, log)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	select {
	case addresses := <-bound:
		return &running{s, t, addresses[0], addresses[1], stop}
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return nil
}

// publish publishes changes for Gateway shop/a, such as "Cluster web@1", or
// "-Cluster web" for one that is gone; "Gateway: " before it names another.
func (r *running) publish(changes ...string) {
	r.t.Helper()
	r.Publish(translate.Result{Delta: updates(changes...)})
}

func parseUpdate(change string) xds.Update {
	gateway := "shop/a"
	if g, rest, ok := strings.Cut(change, ": "); ok {
		gateway, change = g, rest
	}
	change, gone := strings.CutPrefix(change, "-")
	kind, name, _ := strings.Cut(change, " ")
	name, content, _ := strings.Cut(name, "@")
	u := xds.Update{Gateway: gateway, Type: typeOf(kind), Name: name}
	if !gone {
		u.Resource = resource(u.Type, name, content)
	}
	return u
}

func typeOf(kind string) string {
	for _, typ := range delta.Types() {
		if xds.ShortType(typ) == kind {
			return typ
		}
	}
	panic("no type " + kind)
}

// resource makes a valid message in which content stands somewhere; its version
// is "content-" and the sum of the body.
func resource(typ, name, content string) *xds.Resource {
	var message proto.Message
	switch typ {
	case cds:
		message = &clusterv3.Cluster{Name: name, AltStatName: content}
	case eds:
		message = &endpointv3.ClusterLoadAssignment{ClusterName: name, Policy: &endpointv3.ClusterLoadAssignment_Policy{
			DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{{Category: content}}}}
	case lds:
		message = &listenerv3.Listener{Name: name, StatPrefix: content}
	case rds:
		message = &routev3.RouteConfiguration{Name: name, RequestHeadersToRemove: []string{content}}
	case sds:
		message = &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			PrivateKey: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: content}}}}}
	}
	body, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return &xds.Resource{Type: typ, Name: name, Version: versionOf(content, body), Body: body}
}

func versionOf(content string, body []byte) string {
	sum := sha256.Sum256(body)
	return content + "-" + hex.EncodeToString(sum[:4])
}

// held returns a resource's entry for initial_resource_versions.
func held(changes ...string) map[string]string {
	versions := map[string]string{}
	for _, change := range changes {
		u := parseUpdate(change)
		versions[u.Name] = u.Resource.Version
	}
	return versions
}

// client is a delta client that does what the test says and nothing by itself.
type client struct {
	t       testing.TB
	cluster string // sent with the first request
	stream  discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	got     chan *discoveryv3.DeltaDiscoveryResponse
	failed  chan error
	close   func()
}

// connect opens a stream for node.cluster and reads it in the background.
func (r *running) connect(cluster string) *client {
	r.t.Helper()
	c := r.open(cluster)
	go c.read()
	return c
}

// read takes responses until the stream ends.
func (c *client) read() {
	for {
		response, err := c.stream.Recv()
		if err != nil {
			c.failed <- err
			return
		}
		c.got <- response
	}
}

// open opens a stream that nobody reads.
func (r *running) open(cluster string) *client {
	r.t.Helper()
	return r.openBy(cluster, insecure.NewCredentials())
}

// openBy is open with credentials; the stream may turn out to be refused.
func (r *running) openBy(cluster string, by credentials.TransportCredentials) *client {
	r.t.Helper()
	target := r.xds.String()
	if r.xds.Network() == "unix" {
		target = "unix:" + target
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(by))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &client{t: r.t, cluster: cluster, stream: stream, failed: make(chan error, 1),
		got:   make(chan *discoveryv3.DeltaDiscoveryResponse, 1000),
		close: func() { cancel(); _ = conn.Close() }}
	r.t.Cleanup(c.close)
	return c
}

func (c *client) send(request *discoveryv3.DeltaDiscoveryRequest) {
	c.t.Helper()
	if c.cluster != "" {
		request.Node = &corev3.Node{Id: "test", Cluster: c.cluster}
		c.cluster = ""
	}
	if err := c.stream.Send(request); err != nil {
		c.t.Fatal(err)
	}
}

// ask subscribes to names of a type; without names to all.
func (c *client) ask(typ string, names ...string) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typ, ResourceNamesSubscribe: names})
}

// resume subscribes as after a reconnect.
func (c *client) resume(typ string, versions map[string]string, names ...string) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typ, ResourceNamesSubscribe: names, InitialResourceVersions: versions})
}

// next waits for the next response.
func (c *client) next() *discoveryv3.DeltaDiscoveryResponse {
	c.t.Helper()
	select {
	case response := <-c.got:
		return response
	case err := <-c.failed:
		c.t.Fatalf("the stream ended: %v", err)
	case <-time.After(patience):
		c.t.Fatal("no response")
	}
	return nil
}

// want checks that the next response is this, as "Cluster a@1 b@2 -gone", and
// leaves it unanswered.
func (c *client) want(text string) *discoveryv3.DeltaDiscoveryResponse {
	c.t.Helper()
	response := c.next()
	if got := show(response); got != text {
		c.t.Fatalf("got %q, want %q", got, text)
	}
	return response
}

// take is want with an ACK.
func (c *client) take(text string) {
	c.t.Helper()
	c.ack(c.want(text))
}

// takeAny takes n responses in any order.
func (c *client) takeAny(texts ...string) {
	c.t.Helper()
	var got []string
	for range texts {
		response := c.next()
		got = append(got, show(response))
		c.ack(response)
	}
	slices.Sort(got)
	slices.Sort(texts)
	if !slices.Equal(got, texts) {
		c.t.Fatalf("got %q, want %q", got, texts)
	}
}

func show(response *discoveryv3.DeltaDiscoveryResponse) string {
	text := xds.ShortType(response.TypeUrl)
	for _, r := range response.Resources {
		content, _, _ := strings.Cut(r.Version, "-")
		if versionOf(content, r.Resource.Value) != r.Version || r.Resource.TypeUrl != response.TypeUrl {
			content = "broken"
		}
		text += " " + r.Name + "@" + content
	}
	for _, name := range response.RemovedResources {
		text += " -" + name
	}
	return text
}

func (c *client) ack(response *discoveryv3.DeltaDiscoveryResponse) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce})
}

func (c *client) nack(response *discoveryv3.DeltaDiscoveryResponse, words string) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce,
		ErrorDetail: status.New(codes.Internal, words).Proto(),
	})
}

// until waits for a condition on the server's state.
func (r *running) until(what string, condition func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		ok := condition()
		r.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// one says whether a single stream serves the Gateway, and whether the condition holds of it. It asks under
// until. An Envoy that has no CPU time for seconds may connect anew: for a moment there is no stream, or two.
func (r *running) one(gateway string, condition func(st *stream) bool) bool {
	streams := r.audience(gateway)
	return len(streams) == 1 && condition(streams[0])
}

// quiet says whether an Envoy holds all that it is sent, and rejects nothing.
func (st *stream) quiet() bool { return st.state == (delta.State{Idle: true}) && st.settled() }

// asked waits until some stream of shop/a or the union asks for n types.
func (r *running) asked(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d types asked for", n), func() bool {
		for _, st := range append(r.audience("shop/a"), r.audience("")...) {
			if len(st.Progress()) >= n {
				return true
			}
		}
		return false
	})
}

// answered reports whether nothing of a type, which the stream asked for, is due or unanswered.
func (st *stream) answered(typ string) bool {
	progress, asked := st.Progress()[typ]
	return asked && progress.Pending == 0
}

// settled reports whether nothing is to be sent or answered, and that the Envoy asked for all
// tables of its scope: a new listener asks for its own a moment after it was accepted.
func (st *stream) settled() bool { return st.state.Idle && len(st.lacks) == 0 }
