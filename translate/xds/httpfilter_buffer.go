package xds

import (
	bufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/buffer/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

type bufferFilter struct{}

func (bufferFilter) Name() string { return "envoy.filters.http.buffer" }

func (bufferFilter) Field() ir.Field { return ir.FieldBuffer }

func (bufferFilter) Chain() message { return bufferOf(1) }

func (bufferFilter) Route(extras *ir.Extras) message {
	if extras.BufferBytes == 0 {
		return nil
	}
	return &bufferv3.BufferPerRoute{Override: &bufferv3.BufferPerRoute_Buffer{Buffer: bufferOf(extras.BufferBytes)}}
}

func bufferOf(size uint32) *bufferv3.Buffer {
	return &bufferv3.Buffer{MaxRequestBytes: wrapperspb.UInt32(size)}
}
