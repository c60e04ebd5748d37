package envoytest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Runs this test binary again, on what looks like a machine without Envoy.
func TestBinaryMissing(t *testing.T) {
	for _, test := range []struct {
		ci, want string
		fails    bool
	}{
		{"", "*** TestEnvoyAdmin SKIPPED, no Envoy to test with: exit status 1: get-envoy: GATEFOLD_ENVOY=/nowhere", false},
		{"true", "no Envoy to test with: exit status 1: get-envoy: GATEFOLD_ENVOY=/nowhere", true},
	} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnvoyAdmin$")
		command.Env = append(os.Environ(), "CI="+test.ci, "GATEFOLD_ENVOY=/nowhere")
		output, err := command.CombinedOutput()
		if (err != nil) != test.fails || !strings.Contains(string(output), test.want) {
			t.Errorf("CI=%s: %v, want failure %t and %q in:\n%s", test.ci, err, test.fails, test.want, output)
		}
	}
}
