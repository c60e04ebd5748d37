package bench

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/xds"
)

// received is a response with the moment at which the last byte of it was there.
type received struct {
	at       time.Time
	size     int
	response *discoveryv3.DeltaDiscoveryResponse
}

// table is the first RouteConfiguration of a response, encoded.
func (r received) table() []byte { return r.response.Resources[0].Resource.Value }

// client is a delta client that acknowledges everything, as an Envoy would. A response is
// decoded only after its arrival was noted, so that what decoding costs is in no figure.
type client struct {
	t      testing.TB
	tables chan received // of routes

	mu   sync.Mutex
	held map[string]map[string][]byte // what it has, encoded, by type and name
}

// connect subscribes to clusters, listeners and the named route table.
func connect(t testing.TB, address, table string) *client {
	t.Helper()
	soon := grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, MaxDelay: 10 * time.Millisecond, Multiplier: 1}, MinConnectTimeout: time.Second}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithConnectParams(soon),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []*discoveryv3.DeltaDiscoveryRequest{
		{Node: &corev3.Node{Id: "bench", Cluster: "default/eg"}, TypeUrl: xds.ClusterType},
		{TypeUrl: xds.ListenerType},
		{TypeUrl: xds.FilterType, ResourceNamesSubscribe: []string{xds.JWTFilter}},
		{TypeUrl: xds.RouteType, ResourceNamesSubscribe: []string{table}},
	} {
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
	}
	c := &client{t: t, tables: make(chan received, 64), held: map[string]map[string][]byte{}}
	go c.receive(stream)
	return c
}

func (c *client) receive(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) {
	for {
		var raw []byte
		if stream.RecvMsg(&raw) != nil {
			return // the benchmark is over
		}
		r := received{at: time.Now(), size: len(raw), response: &discoveryv3.DeltaDiscoveryResponse{}}
		if proto.Unmarshal(raw, r.response) != nil {
			return // next fails, for want of a response
		}
		_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.response.TypeUrl, ResponseNonce: r.response.Nonce})
		c.keep(r.response)
		if r.response.TypeUrl == xds.RouteType && len(r.response.Resources) > 0 {
			c.tables <- r
		}
	}
}

func (c *client) keep(response *discoveryv3.DeltaDiscoveryResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[response.TypeUrl] == nil {
		c.held[response.TypeUrl] = map[string][]byte{}
	}
	for _, resource := range response.Resources {
		c.held[response.TypeUrl][resource.Name] = resource.Resource.Value
	}
}

// patience is how long anything may take that has to happen.
const patience = 10 * time.Minute

// next waits for the table that holds a text. The moment is that of its arrival.
func (c *client) next(text string) received {
	c.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case r := <-c.tables:
			if strings.Contains(string(r.table()), text) {
				return r
			}
		case <-limit:
			c.t.Fatalf("no table with %q came within %v", text, patience)
		}
	}
}

// rawCodec sends messages and receives bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	body, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(body)}, err
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
