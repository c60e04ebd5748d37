package host

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Where shared memory is full, no base id is drawn: Envoy would be ended by a bus error at each start.
func TestNoBaseIDWhereSharedMemoryIsFull(t *testing.T) {
	const inside = "GATEFOLD_TEST_FULL_SHARED_MEMORY"
	if os.Getenv(inside) == "" {
		script := `mount -t tmpfs -o size=4k tmpfs ` + sharedFolder + ` && head -c 4096 /dev/zero >` + sharedFolder + `/full && exec "$0" -test.run "^$1$" -test.v`
		command := exec.Command("unshare", "--mount", "sh", "-c", script, os.Args[0], t.Name())
		command.Env = append(os.Environ(), inside+"=1")
		text, err := command.CombinedOutput()
		if strings.Contains(string(text), "=== RUN") {
			t.Logf("%s", text)
			if err != nil {
				t.Error(err)
			}
			return
		}
		t.Skipf("no mount is possible here: %v: %s", err, text)
	}
	if base, err := reserve(); err == nil {
		t.Errorf("base id %d is drawn", base)
	}
	if entries, err := os.ReadDir(sharedFolder); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
