package connect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta"
)

// Wire is the discovery stream of one client, of either protocol. The server receives messages from it and
// sends frames to it.
type Wire interface {
	Context() context.Context
	RecvMsg(any) error
	SendMsg(any) error
	// Decode decodes a message, and converts it to a request of the incremental protocol.
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
	reader delta.WorldReader // used only by the goroutine that decodes
}

// Decode implements Wire.
func (w *worldWire) Decode(message []byte) (*delta.Request, error) { return w.reader.Read(message) }

// Receive starts a goroutine that reads messages from wire and sends them to the first channel. After an error of
// wire, the goroutine sends the error to the second channel and ends. When ctx ends, the goroutine sends the
// error of ctx and ends.
func Receive(ctx context.Context, wire interface{ RecvMsg(any) error }) (<-chan Message, <-chan error) {
	messages, failed := make(chan Message), make(chan error, 1)
	go func() {
		defer func() {
			if mistake := recover(); mistake != nil { // the stream reports it as its error
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

// Ended returns the error with which a stream ends after Receive reported err. It is nil if the client closed
// the stream (io.EOF), and err if the stream broke. It is Invalid if a message was larger than maxMessage.
func Ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case status.Code(err) == codes.ResourceExhausted:
		return Invalid{Err: err}
	}
	return err
}

// Invalid is the error with which a stream ends whose client sent a message that gatefold does not take.
type Invalid struct {
	// Err is what the client is told, a gRPC status.
	Err error
}

// Error returns the message of the error.
func (i Invalid) Error() string { return i.Err.Error() }

// GRPCStatus returns what the client is told.
func (i Invalid) GRPCStatus() *status.Status { return status.Convert(i.Err) }
