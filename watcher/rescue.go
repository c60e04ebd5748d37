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

// failWith makes a panic the cause of the end of a Watch. It is to be deferred.
func failWith(cancel context.CancelCauseFunc) {
	if panicked := recover(); panicked != nil {
		cancel(&mistake{panicked, debug.Stack()})
	}
}
