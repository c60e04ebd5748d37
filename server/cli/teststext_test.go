package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The lines of the examples are right, for users who test them offline.
func TestExamplesPassTheirTests(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/requests")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples with tests", err)
	}
	for _, file := range files {
		args := []string{"test", filepath.Dir(file)}
		if options, err := os.ReadFile(filepath.Join(filepath.Dir(file), "options")); err == nil && strings.Contains(string(options), "weighted") {
			args = append(args, "--weighted-route-precedence")
		}
		var stdout, stderr bytes.Buffer
		if code := Main(args, &stdout, &stderr); code != exitFine || stderr.Len() > 0 {
			t.Errorf("%v: exit code %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
	}
}
