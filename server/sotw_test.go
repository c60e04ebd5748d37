package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	gatewaystatus "github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// worldClient is client for the state-of-the-world protocol.
type worldClient struct {
	t      testing.TB
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	got    chan *discoveryv3.DiscoveryResponse
	node   *corev3.Node
	names  map[string][]string // by type
	close  func()
}

func (r *running) world() *worldClient {
	r.t.Helper()
	conn, err := grpc.NewClient(r.xds.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	closed := func() { cancel(); _ = conn.Close() }
	r.t.Cleanup(closed)
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &worldClient{t: r.t, stream: stream, got: make(chan *discoveryv3.DiscoveryResponse, 100),
		node: &corev3.Node{Id: "world", Cluster: "shop/a"}, names: map[string][]string{}, close: closed}
	go func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				close(c.got)
				return
			}
			c.got <- response
		}
	}()
	return c
}

// Of a client whose Gateway has nothing to serve, so many requests are kept and no more.
func TestRequestsThatComeTooEarlyAreBounded(t *testing.T) {
	const early = 1000 // as many requests as are kept
	r := start(t, server.Options{})
	r.publish("shop/b: Cluster web@1")
	c := r.world()
	c.ask(cds, "")
	r.until("it is there", func() bool { return len(r.audience("shop/a")) == 1 })
	for range early + 1 {
		if c.stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: cds}) != nil {
			break // the stream is ended
		}
	}
	r.until("it is ended", func() bool { return len(r.audience("shop/a")) == 0 })
}

func (c *worldClient) send(request *discoveryv3.DiscoveryRequest) {
	c.t.Helper()
	request.Node, c.node = c.node, nil
	request.ResourceNames = c.names[request.TypeUrl]
	if err := c.stream.Send(request); err != nil {
		c.t.Fatal(err)
	}
}

// ask asks for names of a type, as one who holds a version of it.
func (c *worldClient) ask(typ, version string, names ...string) {
	c.t.Helper()
	c.names[typ] = names
	c.send(&discoveryv3.DiscoveryRequest{TypeUrl: typ, VersionInfo: version})
}

// take accepts the next response, which must be this, and returns its version.
func (c *worldClient) take(text string) (version string) {
	c.t.Helper()
	r := c.want(text)
	c.send(&discoveryv3.DiscoveryRequest{TypeUrl: r.TypeUrl, VersionInfo: r.VersionInfo, ResponseNonce: r.Nonce})
	return r.VersionInfo
}

func (c *worldClient) nack(text, words string) {
	c.t.Helper()
	r := c.want(text)
	c.send(&discoveryv3.DiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce, ErrorDetail: status.New(codes.Internal, words).Proto()})
}

func (c *worldClient) want(text string) *discoveryv3.DiscoveryResponse {
	c.t.Helper()
	select {
	case r := <-c.got:
		if got := showWorld(r); got != text {
			c.t.Fatalf("got %q, want %q", got, text)
		}
		return r
	case <-time.After(patience):
		c.t.Fatalf("no response, want %q", text)
	}
	return nil
}

// showWorld writes a response down as "Cluster a@1 b@2".
func showWorld(r *discoveryv3.DiscoveryResponse) string {
	text := xds.ShortType(r.TypeUrl)
	for _, any := range r.Resources {
		found := false
		for _, content := range []string{"1", "2", "3", "1line", "2line"} {
			for _, name := range []string{"old", "new", "web", "api", "x", "http", "bad", "r1", "r2"} {
				if deltatest.Resource(r.TypeUrl, name, content) == nil || any.TypeUrl != r.TypeUrl {
					continue
				}
				if string(deltatest.Resource(r.TypeUrl, name, content).Body) == string(any.Value) {
					text, found = text+" "+name+"@"+content, true
				}
			}
		}
		if !found {
			text += " broken"
		}
	}
	return text
}

// Lists of clusters and listeners are whole, the order of a swap is that of the
// incremental protocol, and a cluster stays in the list until nothing uses it.
func TestASwapInTheStateOfTheWorld(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster old@1", "Cluster web@1", "Listener http@1", "RouteConfiguration r1@1", "RouteConfiguration r2@1")
	c := r.world()
	c.ask(cds, "")
	c.take("Cluster old@1 web@1")
	c.ask(lds, "")
	c.take("Listener http@1")
	c.ask(rds, "", "r1", "r2")
	c.take("RouteConfiguration r1@1 r2@1")

	r.publish("-Cluster old", "Cluster new@1", "RouteConfiguration r1@2")
	c.take("Cluster new@1 old@1 web@1")
	c.take("RouteConfiguration r1@2")
	c.take("Cluster new@1 web@1")
	r.publish("-RouteConfiguration r2", "Cluster web@2") // a table cannot be removed: nothing is said of it
	c.take("Cluster new@1 web@2")
	r.publish("Cluster x@1")
	c.take("Cluster new@1 web@2 x@1")
}

// What was rejected is not in the lists that follow: its accepted form is, and
// the innocents of its list are held.
func TestARejectionInTheStateOfTheWorld(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster bad@1", "Cluster web@1")
	c := r.world()
	c.ask(cds, "")
	c.take("Cluster bad@1 web@1")
	r.publish("Cluster bad@2", "Cluster web@2")
	c.nack("Cluster bad@2 web@2", "Error adding/updating cluster(s) bad: no")
	c.take("Cluster bad@1 web@2")
	r.publish("Cluster x@1")
	c.take("Cluster bad@1 web@2 x@1")
	r.publish("Cluster bad@3")
	c.take("Cluster bad@3 web@2 x@1")
}

// A client that tells the present version is sent nothing, also when it comes
// before the first load; one with another version is sent all; and nobody is
// sent an empty list before the first load.
func TestAReconnectInTheStateOfTheWorld(t *testing.T) {
	all := []string{"Cluster web@1", "Listener http@1", "RouteConfiguration r1@1"}
	r := start(t, server.Options{})
	r.publish(all...)
	c := r.world()
	c.ask(cds, "")
	clusters := c.take("Cluster web@1")
	c.ask(lds, "")
	listeners := c.take("Listener http@1")
	c.ask(rds, "", "r1")
	tables := c.take("RouteConfiguration r1@1")

	again := start(t, server.Options{})
	same, other := again.world(), again.world()
	same.ask(cds, clusters)
	same.ask(lds, listeners)
	same.ask(rds, tables, "r1")
	other.ask(cds, "another")
	again.waits(2)
	again.publish(all...)
	other.take("Cluster web@1")
	again.publish("Cluster web@2")
	other.take("Cluster web@2")
	same.take("Cluster web@2") // nothing before
}

// A real Envoy of this protocol is served through swaps without a failed request,
// and a bad route is kept from it.
func TestAnEnvoyOfTheStateOfTheWorld(t *testing.T) {
	shop := newShop(t, server.Options{})
	config, err := envoy.Bootstrap(envoy.Options{XDSAddress: shop.xds.String(), AdminAddress: "127.0.0.1:0", NodeID: "world", NodeCluster: "shop/a"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), "DELTA_GRPC", "GRPC", 1)
	if text == string(config) {
		t.Fatal("the bootstrap is not of the incremental protocol")
	}
	envoytest.Start(t, envoytest.Options{Config: []byte(text)})
	shop.serve(ir.EDS)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{{Name: "shop", Request: envoytest.Request{Address: shop.address}}},
	})
	for i := range 50 {
		shop.swap(i, ir.EDS)
	}
	if result := load.Stop(); result.Failed > 0 || result.Requests == 0 {
		t.Error(result)
	}
	bad := exactly("bad", 201)
	faults()["the body is too long"](bad)
	shop.Publish(translate.Result{Delta: append(shop.cluster("c50", ir.EDS), shop.tableOf(exactly("good", 201), bad))})
	shop.answers("/good", 201)
	shop.answers("/bad", 500)
}

// What a client does not let go stays in its lists: a list without it would be rejected
// for it, with all that is new there.
func TestARejectedRemovalInTheStateOfTheWorld(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster new@1", "Cluster old@1", "Cluster web@1", "Listener http@1", "RouteConfiguration r1@1")
	c := r.world()
	c.ask(cds, "")
	c.take("Cluster new@1 old@1 web@1")
	c.ask(lds, "")
	c.take("Listener http@1")
	c.ask(rds, "", "r1")
	c.take("RouteConfiguration r1@1")
	r.publish("-Cluster old", "-Cluster new")
	c.nack("Cluster web@1", "too few")
	c.take("Cluster old@1 web@1") // one by one
	c.nack("Cluster web@1", "too few")
	r.publish("Cluster web@2")
	c.take("Cluster old@1 web@2")
	r.publish("Cluster old@2")
	c.take("Cluster old@2 web@2")
}

// An Envoy that comes back and has all already asks for its tables like any other: its Gateway is
// programmed.
func TestAGatewayIsProgrammedAfterAReconnectInTheStateOfTheWorld(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1", "Listener http@1", "RouteConfiguration r1@1"), Status: []gatewaystatus.Update{deltatest.PendingGateway("shop/a", 1)}})
	c := r.world()
	c.ask(cds, "")
	clusters := c.take("Cluster web@1")
	c.ask(lds, "")
	listeners := c.take("Listener http@1")
	c.ask(rds, "", "r1")
	tables := c.take("RouteConfiguration r1@1")
	r.judged("True")
	c.close()
	r.judged("False")

	same := r.world()
	same.ask(cds, clusters)
	same.ask(lds, listeners)
	same.ask(rds, tables, "r1")
	r.judged("True")
}
