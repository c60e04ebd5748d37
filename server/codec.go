package server

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that newFrameCodec wraps
	"google.golang.org/grpc/mem"
)

// frame is a response that is encoded already. Its buffers are shared between
// streams and never changed.
type frame struct{ mem.BufferSlice }

// message is a request as it came.
type message struct{ mem.BufferSlice }

// frameCodec is gRPC's own protobuf codec, but for a frame and a message, which it
// passes on.
type frameCodec struct{ encoding.CodecV2 }

func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2("proto")} }

func (c frameCodec) Marshal(message any) (mem.BufferSlice, error) {
	if f, ok := message.(frame); ok {
		return f.BufferSlice, nil
	}
	return c.CodecV2.Marshal(message)
}

func (c frameCodec) Unmarshal(data mem.BufferSlice, into any) error {
	if m, ok := into.(*message); ok {
		data.Ref() // until read has read it
		m.BufferSlice = data
		return nil
	}
	return c.CodecV2.Unmarshal(data, into)
}
