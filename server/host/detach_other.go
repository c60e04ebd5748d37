//go:build !linux

package host

import "os/exec"

// RunDetached returns an error, because host mode works only on Linux.
func RunDetached(string, []string) error { return errNoProc }

// CheckDetached returns an error, because host mode works only on Linux.
func CheckDetached() error { return errNoProc }

// detachable returns an error, because host mode works only on Linux.
func detachable([]string, string) error { return errNoProc }

// selfCommand returns a command that runs self[0] with args. It is never run outside of Linux.
func selfCommand(self []string, args ...string) *exec.Cmd { return exec.Command(self[0], args...) }
