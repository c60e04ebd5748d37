//go:build !linux

package envoytest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
