package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// chatty is a client that leaves while its requests wait to be handled.
type chatty struct {
	deltaWire
	ctx context.Context
}

func (c chatty) Context() context.Context { return c.ctx }
func (c chatty) RecvMsg(any) error        { return nil }
func (c chatty) SendMsg(any) error        { return nil }

// A stream ends when its client leaves, also when a request of it was not taken
// yet: else the server would go on with it as long as it runs.
func TestAStreamEndsWithARequestThatWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, failed := receive(ctx, chatty{ctx: ctx})
	cancel()
	select {
	case err := <-failed:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

func TestAnUnknownGatewayIsWarnedOfOnce(t *testing.T) {
	s := New(Options{}, zerolog.Nop())
	s.published = true
	for i, want := range []bool{true, false} {
		st := &stream{cluster: "shop/none", address: &net.UnixAddr{}}
		if got, err := s.join(st); got != want || err != nil {
			t.Errorf("stream %d: warned %v, want %v; %v", i, got, want, err)
		}
	}
}
