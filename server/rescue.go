package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server/figures"
)

// taskRest is how long a task waits after a panic until it starts again.
const taskRest = time.Second

// barrier stops a panic from ending more than the task or stream in which it happened.
type barrier struct {
	log     zerolog.Logger
	metrics *figures.Set
}

// Steady runs a task until run returns without a panic. A panic is logged with its stack and counted, and the
// task starts again after taskRest. If ctx ends meanwhile, Steady returns.
func (b *barrier) Steady(ctx context.Context, task string, run func(context.Context)) {
	for !b.survives(task, func() { run(ctx) }) {
		select {
		case <-time.After(taskRest):
		case <-ctx.Done():
			return
		}
	}
}

// survives runs a task, and reports whether it ended without a panic. A panic is logged and counted.
func (b *barrier) survives(task string, run func()) (ok bool) {
	defer func() {
		if mistake := recover(); mistake != nil {
			b.metrics.TaskPanicked(task)
			b.log.Error().Str("task", task).Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
				Msg("internal error: a task panicked and begins anew; gatefold still serves; please report it")
		}
	}()
	run()
	return true
}

// rescue recovers from a panic in the code that serves a stream, and stores an error in *err, so that only this
// stream ends. It is called with defer, and does nothing without a panic.
func (b *barrier) rescue(err *error) {
	mistake := recover()
	if mistake == nil {
		return
	}
	b.metrics.StreamPanicked()
	b.log.Error().Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
		Msg("a mistake in gatefold: the stream of an Envoy is ended; please report it")
	*err = status.Error(codes.Internal, "a mistake in gatefold; its log has the details")
}
