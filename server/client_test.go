package server_test

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
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
	*server.Server
	t          testing.TB
	xds, admin net.Addr
	stop       func() // and waits for the end
}

func start(t testing.TB, options server.Options) *running {
	t.Helper()
	return startLogged(t, options, zerolog.New(zerolog.NewTestWriter(t)))
}

func startLogged(t testing.TB, options server.Options, log zerolog.Logger) *running {
	t.Helper()
	bound := make(chan [2]net.Addr, 1)
	options.BarrierWait = cmp.Or(options.BarrierWait, time.Hour) // no test goes on because it ended
	options.XDSAddress, options.AdminAddress = cmp.Or(options.XDSAddress, "127.0.0.1:0"), cmp.Or(options.AdminAddress, "127.0.0.1:0")
	options.Listening = func(xds, admin net.Addr) { bound <- [2]net.Addr{xds, admin} }
	s := server.New(options, log)
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
	r.Publish(translate.Result{Delta: deltatest.Updates(changes...)})
}

// held returns a resource's entry for initial_resource_versions.
func held(changes ...string) map[string]string {
	versions := map[string]string{}
	for _, change := range changes {
		u := deltatest.Update(change)
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
		if deltatest.Version(content, r.Resource.Value) != r.Version || r.Resource.TypeUrl != response.TypeUrl {
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
