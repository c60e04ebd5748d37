//go:build !linux

package composetest

import "errors"

// start has no engine to start: dockerd is there for Linux alone.
func (e *engine) start() error {
	return errors.New("none answers, and only on Linux one can be started")
}
