//go:build !linux

package host

import "os/exec"

// RunDetached returns an error: host mode is for Linux.
func RunDetached(string, []string) error { return errNoProc }

// CheckDetached returns an error: host mode is for Linux.
func CheckDetached() error { return errNoProc }

func detachable([]string, string) error { return errNoProc }

func selfCommand(self []string, args ...string) *exec.Cmd { return exec.Command(self[0], args...) }
