package connect

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/delta"
)

// Intake bounds the memory for Envoys that all reconnect at once, for example after a restart. The first
// requests of an Envoy name everything that it has. For 10,000 clusters and their endpoints, the requests have
// 2 MB, and need about 8 MB more while they are decoded. Afterwards, the stream needs little memory for the
// names (see delta/entries.go).
//
//   - Before the first Publish, nothing is read from a stream, because the requests cannot be compared with
//     anything yet. An Envoy can send no more than the window of its stream meanwhile.
//   - Only a few streams at a time read their first request. A window grows to the size of a message only when
//     that message is read.
//   - Only a few large requests at a time are decoded. A stream's later large requests wait in the same queue
//     as the first requests of other streams, in the order of arrival. So neither kind of request keeps the
//     other waiting for long.
//
// A client that sends slowly, or nothing, does not delay others for long: its turn ends after firstTime. A stream
// that has waited long enough (longestWait) reads its first request without a turn.
type Intake struct {
	stopping <-chan struct{}
	loaded   chan struct{} // Loaded closes it
	arriving turns         // the streams that read their first request
	// decoding bounds the large requests that are decoded.
	decoding turns
	// longest limits how long a stream waits for its turn to read its first request. After this time, the stream
	// reads without a turn.
	longest time.Duration
	waiting atomic.Int64 // the number of streams that wait for their first request
}

const (
	// maxArriving is how many streams read their first request at a time. firstTime is how long the turn of such a
	// stream lasts if no request arrives.
	maxArriving = 16
	firstTime   = 500 * time.Millisecond
	// longestWait is the value of Intake.longest. A thousand Envoys with 10,000 clusters are read in that time.
	longestWait = 30 * time.Second
	// maxDecoding bounds how many large requests are decoded at a time.
	maxDecoding = 8
	// smallRequest is the number of bytes up to which a request is decoded without waiting for a turn: an ACK, or
	// a request of an Envoy without many clusters.
	smallRequest = 16 << 10
	// streamWindow is how many bytes a client may send on a stream before the server reads them. A larger message
	// is let through while it is read. connWindow is the same for a connection.
	streamWindow, connWindow = 64 << 10, 1 << 20
)

// NewIntake returns an Intake whose streams wait until Loaded is called. When stopping is closed, all waiting
// ends with ErrStopping.
func NewIntake(stopping <-chan struct{}) *Intake {
	return &Intake{
		stopping: stopping,
		loaded:   make(chan struct{}), longest: longestWait,
		arriving: make(turns, maxArriving), decoding: make(turns, min(maxDecoding, runtime.GOMAXPROCS(0))),
	}
}

// turns is a semaphore: its capacity is how many callers may do something at the same time. A caller that must
// wait gets its turn in the order of waiting.
type turns chan struct{}

// take waits until the caller may go on (its turn). The caller ends its turn by done, which may be called more
// than once. Two events end the wait early:
//   - If the channel limit delivers a value first, the caller may go on without a turn: err is nil, and done does
//     nothing. A nil channel sets no such bound.
//   - If ctx ends or stopping is closed first, err is not nil, and done is nil.
func (t turns) take(ctx context.Context, stopping <-chan struct{}, limit <-chan time.Time) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return sync.OnceFunc(func() { <-t }), nil
	case <-limit:
		return func() {}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-stopping:
		return nil, ErrStopping
	}
}

// Begin waits until a stream may read its first request. It waits for the first load of the folder, and then for a
// turn, because only a few streams may read their first request at a time. If the stream gets no turn within
// i.longest, it may read without a turn.
//
// The caller calls arrived when the request has arrived. The caller calls done when the request is handled or the
// stream ends; done ends the turn. The turn also ends if arrived is not called within firstTime. The error means
// that ctx ended or the server stops.
func (i *Intake) Begin(ctx context.Context) (arrived, done func(), err error) {
	i.waiting.Add(1)
	read := sync.OnceFunc(func() { i.waiting.Add(-1) })
	turn, err := i.turn(ctx)
	if err != nil {
		read()
		return nil, nil, err
	}
	late := time.AfterFunc(firstTime, turn)
	return func() { late.Stop(); read() }, func() { turn(); read() }, nil
}

// turn waits for the first load of the folder, and then for a turn of the stream: only a few streams may read their
// first request at a time. If the stream gets no turn within i.longest, it may go on without one. The caller calls
// done to end the turn. The error means that ctx ended or the server stops.
func (i *Intake) turn(ctx context.Context) (done func(), err error) {
	select {
	case <-i.loaded:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-i.stopping:
		return nil, ErrStopping
	}
	longest := time.NewTimer(i.longest)
	defer longest.Stop()
	return i.arriving.take(ctx, i.stopping, longest.C)
}

// Read decodes a message as a request, and calls the function book with the request. It returns the error of book.
// It also returns an error if the message cannot be decoded, if the wire's context ends, or if the server stops.
func (i *Intake) Read(wire Wire, m Message, book func(*delta.Request) error) error {
	return i.Decode(wire.Context(), m, func(data []byte) error {
		request, err := wire.Decode(data)
		if err != nil {
			return Invalid{Err: status.Errorf(codes.Internal, "a request cannot be read: %v", err)}
		}
		return book(request)
	})
}

// Decode calls the function decode with the bytes of a message, and then frees the message. If the message is
// larger than smallRequest, Decode first waits for its turn, because only a few large messages are decoded at a
// time. Decode returns the error of the function decode. It also returns an error if ctx ends or the server stops
// before the turn.
func (i *Intake) Decode(ctx context.Context, m Message, decode func([]byte) error) error {
	defer m.Free()
	if m.Len() > smallRequest {
		done, err := i.decoding.take(ctx, i.stopping, nil)
		if err != nil {
			return err
		}
		defer done()
	}
	return decode(m.Materialize())
}

// Loaded ends the wait for the first Publish. It is called once, after the first Publish.
func (i *Intake) Loaded() { close(i.loaded) }

// Waiting returns the number of streams that wait for their first request.
func (i *Intake) Waiting() int64 { return i.waiting.Load() }

// ErrStopping is the error of a stream that ends because the server stops.
var ErrStopping = status.Error(codes.Unavailable, "gatefold is stopping")
