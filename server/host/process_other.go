//go:build !linux

package host

import (
	"errors"
	"syscall"
)

// errNoProc is the error of everything in host mode that needs Linux.
var errNoProc = errors.New("--envoy needs Linux, where /proc tells processes apart")

// ownSession returns attributes that start a process in its own session.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Check returns an error if gatefold cannot run Envoys on this system. Outside of Linux it always returns an
// error.
func Check() error { return errNoProc }

// startTime returns an error, because host mode works only on Linux.
func startTime(int) (uint64, error) { return 0, errNoProc }

// commandLine returns nil, because host mode works only on Linux.
func commandLine(int) []byte { return nil }

// listens returns false, because host mode works only on Linux.
func listens([]uint32) bool { return false }

// listensToDatagrams returns false, because host mode works only on Linux.
func listensToDatagrams([]uint32) bool { return false }

// bootID returns "", because host mode works only on Linux.
func bootID() string { return "" }
