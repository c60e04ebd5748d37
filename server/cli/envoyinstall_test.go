package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestInstalledVersionsAreProposed(t *testing.T) {
	root := t.TempDir()
	if versions := installedVersions(filepath.Join(root, "missing")); len(versions) != 0 {
		t.Errorf("without a folder there are %q", versions)
	}
	for _, version := range []string{"1.39.3", "1.40.0"} {
		if err := os.MkdirAll(filepath.Join(root, version), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, version, "envoy"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if versions, want := installedVersions(root), []string{"1.40.0", "1.39.3"}; !slices.Equal(versions, want) {
		t.Errorf("there are %q, want %q", versions, want)
	}
}
