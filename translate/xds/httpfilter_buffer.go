package xds

import (
	bufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/buffer/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// bufferFilter returns the filter that buffers request bodies and limits their size. The chain for WebSockets
// lacks the filter, because the filter would wait for the end of the request.
func bufferFilter() httpFilter {
	return httpFilter{
		name: "envoy.filters.http.buffer", chain: func() message { return bufferOf(1) }, route: bufferRoute,
		noUpgrades: true,
	}
}

// bufferRoute returns the configuration of bufferFilter, or nil without a limit.
func bufferRoute(extras *ir.Extras) message {
	if extras.BufferBytes == 0 {
		return nil
	}
	return &bufferv3.BufferPerRoute{Override: &bufferv3.BufferPerRoute_Buffer{Buffer: bufferOf(extras.BufferBytes)}}
}

func bufferOf(size uint32) *bufferv3.Buffer {
	return &bufferv3.Buffer{MaxRequestBytes: wrapperspb.UInt32(size)}
}
