package connect

import (
	"context"
	"errors"
	"testing"
	"time"
)

// panickingWire is a stream whose messages cannot be read without a panic.
type panickingWire struct{ Wire }

func (panickingWire) RecvMsg(any) error { panic("a frame of an unknown shape") }

// A panic in the goroutine that reads a stream would end the process. It ends the stream.
func TestAPanicWhileReadingEndsTheStreamAlone(t *testing.T) {
	_, failed := Receive(context.Background(), panickingWire{})
	err := <-failed
	if want := "internal error: a message cannot be read: a frame of an unknown shape"; err == nil || err.Error() != want {
		t.Errorf("the stream ended with %v, want %s", err, want)
	}
}

// chatty is a client that leaves while its requests wait to be handled.
type chatty struct {
	DeltaWire
	ctx context.Context
}

func (c chatty) Context() context.Context { return c.ctx }
func (c chatty) RecvMsg(any) error        { return nil }
func (c chatty) SendMsg(any) error        { return nil }

// A stream ends when its client leaves, also when a request of it was not taken
// yet: else the server would go on with it as long as it runs.
func TestAStreamEndsWithARequestThatWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, failed := Receive(ctx, chatty{ctx: ctx})
	cancel()
	select {
	case err := <-failed:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
