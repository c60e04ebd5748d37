package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// SIGTERM and SIGINT end validate in the middle of files that take long to read: the CPU time is well below that of a run
// to the end, and nothing is reported.
func TestASignalEndsValidate(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gatefold")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-race=false", "-buildvcs=false", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	folder := t.TempDir()
	for i := range 12 {
		text := strings.Replace(celRoute(), "name: a,", fmt.Sprintf("name: a%d,", i), 1)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("r%d.yaml", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := exec.CommandContext(t.Context(), program, "validate", folder)
	if err := whole.Run(); whole.ProcessState.ExitCode() != exitFindings {
		t.Fatalf("to the end: %v", err)
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, "validate", folder)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		envoytest.Wait(t, "validate to be at work", func() error {
			if used := usedBy(t, cmd.Process.Pid); used < usedAtEnd(whole)/8 {
				return fmt.Errorf("it has used %v of CPU time", used)
			}
			return nil
		})
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || stdout.Len() > 0 {
			t.Errorf("%v: %v, %s%s", signal, err, stderr.String(), stdout.String())
		}
		if used := usedAtEnd(cmd); used > usedAtEnd(whole)/2 {
			t.Errorf("%v: it used %v of CPU time, to the end %v", signal, used, usedAtEnd(whole))
		}
		t.Logf("%v: %v of %v, %s", signal, usedAtEnd(cmd), usedAtEnd(whole), stderr.String())
	}
}

// usedAtEnd is the CPU time of a command that has ended.
func usedAtEnd(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// usedBy is the CPU time of a process that runs.
func usedBy(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var user, system int
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name may have spaces
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // a tick of Linux is a hundredth of a second
}
