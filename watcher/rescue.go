package watcher

import (
	"context"
	"fmt"
	"runtime/debug"
)

// mistake is a panic, with the stack that it was raised on.
type mistake struct {
	panicked any
	stack    []byte
}

// Error implements error.
func (m *mistake) Error() string { return fmt.Sprintf("%v, raised at:\n%s", m.panicked, m.stack) }

// failWith ends a Watch with the panic of the deferring goroutine as its cause. Use it with defer.
func failWith(cancel context.CancelCauseFunc) {
	if panicked := recover(); panicked != nil {
		cancel(&mistake{panicked, debug.Stack()})
	}
}
