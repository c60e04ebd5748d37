package cli

import (
	"context"
	"testing"
)

// What a command says while it waits is said before the command returns, or not at all.
func TestNothingIsSaidAfterTheAnswer(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), false
	stop := later(0, func(ctx context.Context) {
		close(begun)
		<-ctx.Done()
		ended = true
	})
	<-begun
	stop()
	if !ended {
		t.Error("it still runs after stop")
	}
	said := false
	later(1<<62, func(context.Context) { said = true })()
	if said {
		t.Error("it ran although it was stopped before")
	}
}
