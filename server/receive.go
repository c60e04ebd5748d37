package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta"
)

// wire is a stream of either protocol, on which messages come and frames go.
type wire interface {
	Context() context.Context
	RecvMsg(any) error
	SendMsg(any) error
	// decode gives a message in the words of the incremental protocol.
	decode(message []byte) (*delta.Request, error)
}

// deltaWire is a stream of the incremental protocol.
type deltaWire struct{ grpc.ServerStream }

func (deltaWire) decode(message []byte) (*delta.Request, error) {
	request := &delta.Request{}
	return request, proto.Unmarshal(message, request)
}

// worldWire is a stream of the state-of-the-world protocol.
type worldWire struct {
	grpc.ServerStream
	reader delta.WorldReader // of the goroutine that decodes
}

func (w *worldWire) decode(message []byte) (*delta.Request, error) { return w.reader.Read(message) }

// receive takes messages until the stream ends; the goroutine ends with it.
func receive(ctx context.Context, wire wire) (<-chan message, <-chan error) {
	messages, failed := make(chan message), make(chan error, 1)
	go func() {
		defer func() {
			if mistake := recover(); mistake != nil { // in the name of the stream, which reports it
				failed <- fmt.Errorf("internal error: a message cannot be read: %v", mistake)
			}
		}()
		for {
			var m message
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
