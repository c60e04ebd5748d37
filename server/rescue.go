package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	envoyhost "github.com/gatefold/gatefold/server/host"
)

// taskRest is the time between a panic of a task and its new begin.
const taskRest = time.Second

// Steady runs a task until ctx ends. A panic of the task is logged with its stack and counted,
// and the task starts again after a pause.
func (s *Server) Steady(ctx context.Context, task string, run func(context.Context)) {
	for !s.survives(task, func() { run(ctx) }) {
		select {
		case <-time.After(taskRest):
		case <-ctx.Done():
			return
		}
	}
}

// survives runs a task, and reports whether it ended without a panic.
func (s *Server) survives(task string, run func()) (ok bool) {
	defer func() {
		if mistake := recover(); mistake != nil {
			s.metrics.taskPanics.WithLabelValues(task).Inc()
			s.log.Error().Str("task", task).Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
				Msg("internal error: a task panicked and begins anew; gatefold still serves; please report it")
		}
	}()
	run()
	return true
}

// tasks are those that Steady runs.
func tasks() []string {
	return []string{"certificates", "quarantine", "binds", "health", "status", "busy", "envoys", "notifier", "watcher", envoyhost.SupervisorTask}
}
