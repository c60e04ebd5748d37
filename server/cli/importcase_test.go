package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The case import-ingress, which runs on a real Envoy, has what import writes; UPDATE=1 writes it there.
func TestImportedCase(t *testing.T) {
	const path = "../../translate/testdata/import-ingress.txtar"
	folder := filepath.Join(t.TempDir(), "folder")
	var stdout, stderr bytes.Buffer
	args := []string{"import", "ingress", "testdata/ingress.yaml", "--out", folder}
	for i, name := range []string{"web", "next", "cart"} {
		args = append(args, "--replace-service", "shop/"+name+"=127.9.0."+string(rune('1'+i))+":3000")
	}
	if code := Main(args, &stdout, &stderr); code != exitFindings {
		t.Fatalf("exit code %d: %s%s", code, &stdout, &stderr)
	}
	if code := Main([]string{"validate", folder}, &stdout, &stderr); code != exitFine {
		t.Fatalf("validate: exit code %d: %s", code, &stdout)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	var texts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ReplaceAll(string(text), "port: 80\n", "port: 8080\n"))
	}
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	imported := &archive.Files[0]
	if want := strings.Join(texts, "---\n"); string(imported.Data) != want {
		if os.Getenv("UPDATE") == "" {
			t.Fatalf("UPDATE=1 rewrites the case; import writes\n%s", want)
		}
		imported.Data = []byte(want)
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
