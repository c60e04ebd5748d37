//go:build !linux

package host

import (
	"errors"
	"syscall"
)

var errNoProc = errors.New("--envoy needs Linux, where /proc tells processes apart")

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Check returns an error if Envoys cannot be run on this system.
func Check() error { return errNoProc }

func startTime(int) (uint64, error) { return 0, errNoProc }

func commandLine(int) []byte { return nil }

func listens([]uint32) bool { return false }

func listensToDatagrams([]uint32) bool { return false }

func bootID() string { return "" }
