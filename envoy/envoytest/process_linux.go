package envoytest

import "syscall"

// dieWithParent returns attributes with which the kernel kills Envoy when the test process ends. This is needed
// if the test process is killed or runs into its time limit, because then no cleanup runs.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
