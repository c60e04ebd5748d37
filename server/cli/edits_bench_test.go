package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// fill writes n routes of one rule over hosts host names.
func (s *served) fill(n, hosts int) {
	for i := range n {
		s.write(fmt.Sprintf("fill-%05d.yaml", i), s.filler(i, hosts, 0))
	}
}

func (s *served) filler(i, hosts, revision int) string {
	text := s.route(fmt.Sprintf("fill-%05d", i), "a")
	return strings.Replace(text, "  rules:\n  - ", fmt.Sprintf(`  hostnames: [h%d.example.com]
  rules:
  - filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-revision, value: "%d"}]}}]
    `, i%hosts, revision), 1)
}

// BenchmarkEditToClient measures from the rename of a file to the route table
// received by a client: quiet time, read, store, translate, server.
func BenchmarkEditToClient(b *testing.B) {
	for _, size := range [][2]int{{1000, 1}, {1000, 100}, {10_000, 1}, {10_000, 100}} {
		b.Run(fmt.Sprintf("routes=%d/hosts=%d", size[0], size[1]), func(b *testing.B) {
			s := startServed(b)
			s.fill(size[0], size[1])
			tables := s.subscribe(b)
			last := <-tables
			for !strings.Contains(last, fmt.Sprintf("fill-%05d", size[0]-1)) {
				last = <-tables
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				revision := fmt.Sprint("edit-", i)
				s.write("fill-00500.yaml", strings.ReplaceAll(s.filler(500, size[1], 0), `"0"`, `"`+revision+`"`))
				for !strings.Contains(last, revision) {
					last = <-tables
				}
			}
		})
	}
}

// BenchmarkEditToAnswer measures from the rename of a file to the changed
// answer through Envoy, on a folder of 20 routes.
func BenchmarkEditToAnswer(b *testing.B) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("r", i))
	}
	s := startServed(b, names...)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		backend := []string{"b", "a"}[i%2]
		start := time.Now()
		s.write("r7.yaml", s.route("r7", backend))
		s.poll("r7", backend)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// poll asks without a pause until a backend answers.
func (s *served) poll(route, backend string) {
	for {
		response, err := envoytest.Try(s.request(route))
		if err != nil {
			s.t.Fatal(err)
		}
		if response.Backend == backend {
			return
		}
	}
}

// subscribe connects a client that acknowledges everything, and returns the route
// tables as they come in.
func (s *served) subscribe(b *testing.B) <-chan string {
	b.Helper()
	connection, err := grpc.NewClient(s.xds, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = connection.Close() }) // the benchmark is over
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	node := &corev3.Node{Id: "bench", Cluster: "default/eg"}
	_, port, _ := strings.Cut(s.address, ":")
	for _, request := range []*discoveryv3.DeltaDiscoveryRequest{
		{Node: node, TypeUrl: xds.ClusterType},
		{TypeUrl: xds.ListenerType},
		{TypeUrl: xds.RouteType, ResourceNamesSubscribe: []string{ir.TableName("default/eg/http-"+port, ir.FilterGeneration)}},
	} {
		if err := stream.Send(request); err != nil {
			b.Fatal(err)
		}
	}
	tables := make(chan string, 16)
	go receive(stream, tables)
	return tables
}

func receive(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient, tables chan<- string) {
	for {
		response, err := stream.Recv()
		if err != nil {
			return // the benchmark is over
		}
		_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce})
		if response.TypeUrl == xds.RouteType {
			for _, resource := range response.Resources {
				tables <- string(resource.Resource.Value)
			}
		}
	}
}
