//go:build !linux

package envoytest

import "syscall"

// dieWithParent returns nil, because only Linux can end a process with its parent.
func dieWithParent() *syscall.SysProcAttr { return nil }
