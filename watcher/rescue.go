package watcher

import (
	"context"
	"fmt"
	"runtime/debug"
)

// mistake is a panic with its stack.
type mistake struct {
	panicked any
	stack    []byte
}

// Error implements error.
func (m *mistake) Error() string { return fmt.Sprintf("%v, raised at:\n%s", m.panicked, m.stack) }

// failWith recovers a panic of the calling goroutine, and cancels the context with a mistake as its cause. Use
// it with defer.
func failWith(cancel context.CancelCauseFunc) {
	if panicked := recover(); panicked != nil {
		cancel(&mistake{panicked, debug.Stack()})
	}
}
