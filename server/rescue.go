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

// barrier limits the effect of a panic: only the task or the stream in which the panic happened ends.
type barrier struct {
	log     zerolog.Logger
	metrics *figures.Set
}

// Steady runs a background task until the function run returns without a panic. After a panic, which is logged
// with its stack and counted, Steady waits for taskRest and calls run again. Steady returns instead if ctx ends
// meanwhile.
func (b *barrier) Steady(ctx context.Context, task string, run func(context.Context)) {
	for !b.survives(task, func() { run(ctx) }) {
		select {
		case <-time.After(taskRest):
		case <-ctx.Done():
			return
		}
	}
}

// survives calls run, and reports whether run returned without a panic. A panic is logged under the name of the
// task, and counted.
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
