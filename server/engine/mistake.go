package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// mistake is the error that stands for a panic in gatefold.
type mistake struct {
	said  string
	stack []byte
}

// Error implements error.
func (m *mistake) Error() string { return m.said }

// blamable reports whether err is a panic, or means that a translation took too long (errOverdue). Then an object
// is probably the cause, and isolate can find that object.
func blamable(err error) bool {
	var m *mistake
	return errors.Is(err, errOverdue) || errors.As(err, &m)
}

// describeMistake adds err to a log line. For a panic it adds the stack, too.
func describeMistake(line *zerolog.Event, err error) *zerolog.Event {
	var m *mistake
	if errors.As(err, &m) {
		return line.Str("panic", m.said).Bytes("stack", m.stack)
	}
	return line.Err(err)
}

// caught calls work. It returns a panic of work as a *mistake, and nil if there was none.
func caught(work func()) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = &mistake{fmt.Sprint(panicked), debug.Stack()}
		}
	}()
	work()
	return nil
}
