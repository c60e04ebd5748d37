package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// BenchmarkPublish100Streams is one edit of a table of 350 KB, received and
// acknowledged by 100 clients in this process: they and the server are counted.
// The clients count a response's bytes and do not decode it.
func BenchmarkPublish100Streams(b *testing.B) {
	const streams, size = 100, 350_000
	r := start(b, server.Options{})
	table := func(i int) translate.Result {
		body := fmt.Sprintf("%d%s", i%10, strings.Repeat("x", size-1))
		return translate.Result{Delta: []xds.Update{{Gateway: "shop/a", Type: rds, Name: "r",
			Resource: &xds.Resource{Type: rds, Name: "r", Version: strconv.Itoa(i), Body: []byte(body)}}}}
	}
	r.Publish(table(0))
	var received sync.WaitGroup
	received.Add(streams)
	for range streams {
		r.counting(&received)
	}
	received.Wait()
	b.SetBytes(streams * size)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		next := table(i + 1)
		received.Add(streams)
		b.StartTimer()
		r.Publish(next)
		received.Wait()
	}
}

// counting connects a client that acknowledges all it gets.
func (r *running) counting(received *sync.WaitGroup) {
	conn, err := grpc.NewClient(r.xds.String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(countingCodec{encoding.GetCodecV2("proto")}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	wire, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	c := &client{t: r.t, cluster: "shop/a", stream: wire}
	c.ask(rds, "r")
	go func() {
		for nonce := uint64(1); ; nonce++ {
			if wire.RecvMsg(&discoveryv3.DeltaDiscoveryResponse{}) != nil {
				return
			}
			// The server's nonces count up, which only this benchmark may know.
			answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: rds, ResponseNonce: strconv.FormatUint(nonce, 36)}
			if wire.Send(answer) != nil {
				return
			}
			received.Done()
		}
	}()
}

// countingCodec leaves responses undecoded.
type countingCodec struct{ encoding.CodecV2 }

func (countingCodec) Unmarshal(mem.BufferSlice, any) error { return nil }
