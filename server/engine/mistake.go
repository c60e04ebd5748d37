package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate"
)

// mistake is the error that stands for a panic in gatefold.
type mistake struct {
	said  string
	stack []byte
}

// Error implements error.
func (m *mistake) Error() string { return m.said }

// mistakeHint is the hint of a problem that is a mistake in gatefold.
const mistakeHint = "please report it with the log of gatefold; gatefold tries again when the object changes, and at `gatefold reload`"

// isMistake reports whether err is a panic in gatefold.
func isMistake(err error) bool {
	return errors.As(err, new(*mistake)) || errors.As(err, new(*translate.Fault))
}

// describeMistake adds err to a log line. For a panic it adds the stack, too.
func describeMistake(line *zerolog.Event, err error) *zerolog.Event {
	m, f := new(mistake), new(translate.Fault)
	switch {
	case errors.As(err, &m):
		return line.Str("panic", m.said).Bytes("stack", m.stack)
	case errors.As(err, &f):
		return line.Str("panic", f.Error()).Bytes("stack", f.Stack)
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
