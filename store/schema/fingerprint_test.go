package schema

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Two programs that say the same of how they were built, as all do that are built
// outside of a repository, have two fingerprints; one program has one.
func TestFingerprintNamesTheProgram(t *testing.T) {
	const asked = "GATEFOLD_TEST_FINGERPRINT"
	if os.Getenv(asked) != "" {
		if _, err := os.Stdout.WriteString(Fingerprint() + "\n"); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string, program []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, program, 0o700); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), path, "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), asked+"=1")
		text, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return strings.TrimSpace(string(text))
	}
	this := Fingerprint()
	if same := of("same", program); this != same || len(this) != 64 {
		t.Errorf("%q, and of a copy %q", this, same)
	}
	if other := of("other", append(program, 0)); this == other || len(other) != 64 {
		t.Errorf("%q, and of another program %q", this, other)
	}
}
