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

// Intake bounds the memory that Envoys take which all come back at once, as they do
// after a restart. Each names what it holds: of 10,000 clusters and their endpoints
// that is 2 MB as it comes, and some 8 MB more while it is decoded; booked as what differs from
// what all hold (see delta/roll.go) it is next to nothing.
//
//   - Nothing is read of a stream before the first Publish, as there is nothing to
//     compare with. What an Envoy sends meanwhile is its stream's window at most.
//   - A few streams at a time are at their first request. A window opens as wide as
//     the message is that is read, and not before.
//   - A few large requests at a time are decoded and booked. Those that follow a first
//     one wait with the first ones, in the order in which they came: so as many of
//     them are done as of first ones, and few wait.
//
// A client that sends slowly, or nothing, delays nobody for long: its turn ends before
// its request has come, and of however many such clients there are, nobody waits for a
// turn longer than longest.
type Intake struct {
	stopping <-chan struct{}
	loaded   chan struct{} // closed by Loaded
	arriving turns
	decoding turns
	longest  time.Duration
	waiting  atomic.Int64 // streams of which nothing is read
}

const (
	// maxArriving is how many streams are at their first request at a time, firstTime how
	// long one of them waits for it at most.
	maxArriving = 16
	firstTime   = 500 * time.Millisecond
	// longestWait is how long a stream waits for that turn at most. A thousand Envoys of
	// 10,000 clusters are read in that time.
	longestWait = 30 * time.Second
	// maxDecoding bounds how many large requests are decoded at a time.
	maxDecoding = 8
	// smallRequest is how large a request may be, in bytes, that takes no turn: an ACK, or
	// what an Envoy without many clusters says.
	smallRequest = 16 << 10
	// streamWindow is what a client may send that nobody reads, in bytes; a larger message
	// is let through once it is read. connWindow is the same for its connection.
	streamWindow, connWindow = 64 << 10, 1 << 20
)

// NewIntake returns an intake before the first Publish. It ends with stopping.
func NewIntake(stopping <-chan struct{}) *Intake {
	return &Intake{
		stopping: stopping,
		loaded:   make(chan struct{}), longest: longestWait,
		arriving: make(turns, maxArriving), decoding: make(turns, min(maxDecoding, runtime.GOMAXPROCS(0))),
	}
}

// turns bounds how many do something at a time, in the order in which they came.
type turns chan struct{}

// take waits for a turn, or until there has to be none; done gives it back and may be
// called more than once.
func (t turns) take(ctx context.Context, stopping <-chan struct{}, none <-chan time.Time) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return sync.OnceFunc(func() { <-t }), nil
	case <-none:
		return func() {}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-stopping:
		return nil, ErrStopping
	}
}

// Begin waits until a stream may be read from. The turn ends with done, which is called
// when the first request is booked, or the stream ends; or after a time, unless arrived
// was called, as it is when that request has come.
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

// turn waits for the first load, and then for the turn of a first request.
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

// Read decodes a message and books it.
func (i *Intake) Read(wire Wire, m Message, book func(*delta.Request) error) error {
	return i.Decode(wire.Context(), m, func(data []byte) error {
		request, err := wire.Decode(data)
		if err != nil {
			return status.Errorf(codes.Internal, "a request cannot be read: %v", err)
		}
		return book(request)
	})
}

// Decode hands the bytes of a message to decode, and frees them. A large message waits for its turn.
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

// Loaded says that there is something to serve since the first Publish. It is called once.
func (i *Intake) Loaded() { close(i.loaded) }

// Waiting returns how many streams have nothing read of them.
func (i *Intake) Waiting() int64 { return i.waiting.Load() }

// ErrStopping ends a stream because the server stops.
var ErrStopping = status.Error(codes.Unavailable, "gatefold is stopping")
