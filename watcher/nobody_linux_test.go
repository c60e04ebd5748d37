package watcher

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// asNobody runs f as a user who has no rights beyond what files give to all,
// also when the tests run as root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() == 0 {
		must(t, syscall.Setfsuid(65534))
		defer func() { must(t, syscall.Setfsuid(0)) }()
	}
	f()
}
