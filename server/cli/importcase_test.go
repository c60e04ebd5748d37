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

// The cases import-ingress, import-traefik and import-cluster, which run on a real Envoy, have what
// import writes; UPDATE=1 writes it there.
func TestImportedCase(t *testing.T) {
	for name, args := range map[string][]string{
		"ingress": {"ingress", "testdata/ingress.yaml", "--replace-service", "shop/web=127.9.0.1:3000",
			"--replace-service", "shop/next=127.9.0.2:3000", "--replace-service", "shop/cart=127.9.0.3:3000"},
		"traefik": {"traefik", "testdata/traefik.yaml", "--entry-point", "web=8080"},
		"cluster": {"cluster", "testdata/cluster.yaml", "--replace-service", "shop/web=127.9.0.1:3000"},
	} {
		t.Run(name, func(t *testing.T) {
			checkImportedCase(t, "../../translate/testdata/import-"+name+".txtar", args)
		})
	}
}

// checkImportedCase compares the file in/imported.yaml of a case with what import writes.
func checkImportedCase(t *testing.T, path string, args []string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "folder")
	var stdout, stderr bytes.Buffer
	if code := Main(append([]string{"import", "--out", folder}, args...), &stdout, &stderr); code != exitFindings {
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
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "in/imported.yaml" })
	if at < 0 {
		t.Fatalf("%s has no file in/imported.yaml", path)
	}
	imported := &archive.Files[at]
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
