package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// mistake is a panic: a fault of gatefold.
type mistake struct {
	said  string
	stack []byte
}

// Error implements error.
func (m *mistake) Error() string { return m.said }

// blamable reports whether an error of the translator is caused by an object that can be found.
func blamable(err error) bool {
	var m *mistake
	return errors.Is(err, errOverdue) || errors.As(err, &m)
}

// describeMistake adds an error to a line of the log, a panic with its stack.
func describeMistake(line *zerolog.Event, err error) *zerolog.Event {
	var m *mistake
	if errors.As(err, &m) {
		return line.Str("panic", m.said).Bytes("stack", m.stack)
	}
	return line.Err(err)
}

// caught runs work and returns its panic as a *mistake, nil for none.
func caught(work func()) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = &mistake{fmt.Sprint(panicked), debug.Stack()}
		}
	}()
	work()
	return nil
}
