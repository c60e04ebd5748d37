package ir_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDataNeedsNoParsers wants that ir, and so whoever reads its data, builds without the parser of YAML, the schemas
// of the API server and CEL. go.yaml.in/yaml/v2 is there: the types of the Gateway API bring it, by
// k8s.io/apimachinery/pkg/apis/meta/v1, and nothing here calls it (docs/design/libraries.md#yaml-in-ir).
func TestDataNeedsNoParsers(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	needed := strings.Fields(string(out))
	for _, name := range needed {
		for _, parser := range []string{"go.yaml.in/yaml/v3", "sigs.k8s.io/yaml", "github.com/google/cel-go", "k8s.io/apiserver", "k8s.io/apiextensions-apiserver"} {
			if name == parser || strings.HasPrefix(name, parser+"/") {
				t.Errorf("ir needs %s", name)
			}
		}
	}
	if len(needed) < 50 {
		t.Errorf("only %d packages: %q", len(needed), needed)
	}
}
