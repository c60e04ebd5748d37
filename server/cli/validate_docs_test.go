package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What docs/json.md shows of validate is what it prints.
func TestJSONDocumentShowsWhatValidatePrints(t *testing.T) {
	text, err := os.ReadFile(jsonDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := bytes.Cut(text, []byte("\n## gatefold validate\n"))
	t.Chdir(t.TempDir())
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join("folder", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	write("shop.yaml", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: shop\nspec:\n  hostname: shop.example.com\n")
	write("app.yaml", "apiVersion: apps/v1\nkind: Deployment\n")
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"validate", "-o", "json", "folder"}, &stdout, &stderr); code != exitFindings {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if shown := block(t, section, "json"); !bytes.Equal(shown, stdout.Bytes()) {
		t.Errorf("printed is\n%s", stdout.String())
	}
}
