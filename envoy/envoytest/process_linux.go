package envoytest

import "syscall"

// dieWithParent lets the kernel end an Envoy whose test binary was killed or
// ran into its time limit, which runs no cleanup.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
