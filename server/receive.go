package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// wire is a stream of either protocol, on which messages come and frames go.
type wire interface {
	Context() context.Context
	RecvMsg(any) error
	SendMsg(any) error
	// decode gives a message in the words of the incremental protocol.
	decode(message []byte) (*deltaRequest, error)
}

// deltaWire is a stream of the incremental protocol.
type deltaWire struct{ grpc.ServerStream }

func (deltaWire) decode(message []byte) (*deltaRequest, error) {
	request := &deltaRequest{}
	return request, proto.Unmarshal(message, request)
}

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
