//go:build !linux

package watcher

import (
	"os"
	"testing"
)

// asNobody runs f as the user of the test; root, who may read everything, is no such user.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("root may read what others may not")
	}
	f()
}
