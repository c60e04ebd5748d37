package connect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta"
)

// Wire is a stream of either protocol, on which messages come and frames go.
type Wire interface {
	Context() context.Context
	RecvMsg(any) error
	SendMsg(any) error
	// Decode gives a message in the words of the incremental protocol.
	Decode(message []byte) (*delta.Request, error)
}

// DeltaWire is a stream of the incremental protocol.
type DeltaWire struct{ grpc.ServerStream }

// Decode implements Wire.
func (DeltaWire) Decode(message []byte) (*delta.Request, error) {
	request := &delta.Request{}
	return request, proto.Unmarshal(message, request)
}

// NewWorldWire returns the wire of a stream of the state-of-the-world protocol.
func NewWorldWire(stream grpc.ServerStream) Wire { return &worldWire{ServerStream: stream} }

// worldWire is a stream of the state-of-the-world protocol.
type worldWire struct {
	grpc.ServerStream
	reader delta.WorldReader // of the goroutine that decodes
}

// Decode implements Wire.
func (w *worldWire) Decode(message []byte) (*delta.Request, error) { return w.reader.Read(message) }

// Receive takes messages until the stream ends; the goroutine ends with it.
func Receive(ctx context.Context, wire interface{ RecvMsg(any) error }) (<-chan Message, <-chan error) {
	messages, failed := make(chan Message), make(chan error, 1)
	go func() {
		defer func() {
			if mistake := recover(); mistake != nil { // in the name of the stream, which reports it
				failed <- fmt.Errorf("internal error: a message cannot be read: %v", mistake)
			}
		}()
		for {
			var m Message
			if err := wire.RecvMsg(&m); err != nil {
				failed <- err
				return
			}
			select {
			case messages <- m:
			case <-ctx.Done():
				m.Free()
				failed <- ctx.Err()
				return
			}
		}
	}()
	return messages, failed
}

// Ended returns what a stream ends with, of which err was received: nil when the client closed it.
func Ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
