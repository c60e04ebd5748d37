package cli

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// measured FILE PROGRAM ARGS… runs a program and writes its peak of memory in KiB (on
// Linux) and its CPU time in milliseconds into a file. It stands between a test and the
// program because Linux begins the peak of a child with that of the process that
// started it: a test has some hundred MiB, and this one is fresh.
func measured() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // its exit code is passed on
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used)
	if err == nil {
		cpu := (used.Utime.Nano() + used.Stime.Nano()) / 1e6
		err = os.WriteFile(os.Args[1], fmt.Append(nil, used.Maxrss, " ", cpu), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
