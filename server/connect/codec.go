package connect

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that newFrameCodec wraps
	"google.golang.org/grpc/mem"
)

// Frame is a response that is encoded already. Its buffers are shared between
// streams and never changed.
type Frame struct{ mem.BufferSlice }

// Message is a request as it came.
type Message struct{ mem.BufferSlice }

// frameCodec is gRPC's own protobuf codec, but for a Frame and a Message, which it
// passes on.
type frameCodec struct{ encoding.CodecV2 }

func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2("proto")} }

func (c frameCodec) Marshal(message any) (mem.BufferSlice, error) {
	if f, ok := message.(Frame); ok {
		return f.BufferSlice, nil
	}
	return c.CodecV2.Marshal(message)
}

func (c frameCodec) Unmarshal(data mem.BufferSlice, into any) error {
	if m, ok := into.(*Message); ok {
		data.Ref() // until Intake.Read has read it
		m.BufferSlice = data
		return nil
	}
	return c.CodecV2.Unmarshal(data, into)
}
