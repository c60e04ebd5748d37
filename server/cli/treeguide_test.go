package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What docs/guides/tree.md shows as output is what tree prints for the folder above it; UPDATE=1 rewrites it.
func TestTreeGuideShowsWhatTreePrints(t *testing.T) {
	guide, err := filepath.Abs("../../docs/guides/tree.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("folder/shop.yaml", block(t, text, "yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	updated := text
	for language, args := range map[string][]string{"text": {"tree", "folder"}, "mermaid": {"tree", "folder", "--path", "/cart", "-o", "mermaid"}} {
		var stdout, stderr bytes.Buffer
		if code := Main(args, &stdout, &stderr); code != exitFine {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		shown, fence := block(t, text, language), []byte("```"+language+"\n")
		updated = bytes.Replace(updated, append(fence, shown...), append([]byte("```"+language+"\n"), stdout.Bytes()...), 1)
		if !bytes.Equal(shown, stdout.Bytes()) && os.Getenv("UPDATE") == "" {
			t.Errorf("UPDATE=1 rewrites the example; printed is\n%s", stdout.String())
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(guide, updated, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
