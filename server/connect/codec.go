package connect

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that newFrameCodec wraps
	"google.golang.org/grpc/mem"
)

// Frame is a response that is already encoded. Streams share its buffers, which must not change.
type Frame struct{ mem.BufferSlice }

// Message is the encoded bytes of a request.
type Message struct{ mem.BufferSlice }

// frameCodec is gRPC's own protobuf codec, except that it passes a Frame and a Message on without change.
type frameCodec struct{ encoding.CodecV2 }

// newFrameCodec returns a codec that wraps gRPC's protobuf codec.
func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2("proto")} }

// Marshal returns the buffers of a Frame. It encodes other messages as protobuf, with the errors of gRPC's
// codec.
func (c frameCodec) Marshal(message any) (mem.BufferSlice, error) {
	if f, ok := message.(Frame); ok {
		return f.BufferSlice, nil
	}
	return c.CodecV2.Marshal(message)
}

// Unmarshal stores a received message (data) in the value to which the parameter into points. If into is a *Message,
// Unmarshal stores the encoded bytes. Otherwise it decodes them as protobuf, with the errors of gRPC's codec.
func (c frameCodec) Unmarshal(data mem.BufferSlice, into any) error {
	if m, ok := into.(*Message); ok {
		data.Ref() // Intake.Decode frees it
		m.BufferSlice = data
		return nil
	}
	return c.CodecV2.Unmarshal(data, into)
}
