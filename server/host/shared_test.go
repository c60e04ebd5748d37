package host

import (
	"os"
	"path/filepath"
	"testing"
)

// No base id is drawn twice, and what an Envoy leaves is removed, but nothing of another.
func TestBaseIDsAreReserved(t *testing.T) {
	folder, drawn := t.TempDir(), map[int]bool{}
	for range 3 {
		base, err := reserve()
		if err != nil {
			t.Skipf("no shared memory here: %v", err)
		}
		t.Cleanup(func() { release(folder, base) })
		if _, err := os.Stat(blockPath(base)); err != nil || drawn[base] {
			t.Errorf("base id %d: %v, drawn before: %t", base, err, drawn[base])
		}
		drawn[base] = true
	}
	for base := range drawn {
		release(folder, base)
		if _, err := os.Stat(blockPath(base)); err == nil {
			t.Errorf("the block of %d is left", base)
		}
	}
	for _, name := range []string{"hot_parent_120", "hot_udp_child_121", "hot_parent_1200", "hot_parent_0120"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	release(folder, 12)
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v %v", left, err)
	}
}
