package server

import (
	"context"
	"testing"
)

// panickingWire is a stream whose messages cannot be read without a panic.
type panickingWire struct{ wire }

func (panickingWire) RecvMsg(any) error { panic("a frame of an unknown shape") }

// A panic in the goroutine that reads a stream would end the process. It ends the stream.
func TestAPanicWhileReadingEndsTheStreamAlone(t *testing.T) {
	_, failed := receive(context.Background(), panickingWire{})
	err := <-failed
	if want := "internal error: a message cannot be read: a frame of an unknown shape"; err == nil || err.Error() != want {
		t.Errorf("the stream ended with %v, want %s", err, want)
	}
}
