package server_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
)

// A task that panics begins anew; it is logged with its stack, counted, and ends no process.
func TestATaskThatPanicsBeginsAnew(t *testing.T) {
	var log bytes.Buffer
	s := server.New(server.Options{}, zerolog.New(&log))
	begun := 0
	s.Steady(t.Context(), "quarantine", func(context.Context) {
		if begun++; begun == 1 {
			panic("a mistake")
		}
	})
	if begun != 2 || strings.Count(log.String(), `"panic":"a mistake"`) != 1 || !strings.Contains(log.String(), "steady_test.go") {
		t.Errorf("begun %d times: %s", begun, &log)
	}
}

// The end of gatefold ends a task that panics all the time.
func TestATaskThatPanicsAlwaysEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := server.New(server.Options{}, zerolog.Nop())
	s.Steady(ctx, "status", func(context.Context) { cancel(); panic("a mistake") })
}
