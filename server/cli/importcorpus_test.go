package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// What import writes of each manifest of the corpus has no error but those that its report refuses.
func TestImportedCorpusIsValid(t *testing.T) {
	archive, err := txtar.ParseFile("../../store/importer/testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, file := range archive.Files {
		source, _, _ := strings.Cut(file.Name, "/")
		folder := t.TempDir()
		in, out := filepath.Join(folder, "in.yaml"), filepath.Join(folder, "out")
		if err := os.WriteFile(in, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		var imported struct {
			Files    []any
			Verdicts []struct{ Verdict, Object, Message string }
		}
		args := []string{"import", source, in, "--out", out, "--secret-dir", filepath.Join(folder, "secrets"), "-o", "json"}
		readCommand(t, &imported, args...)
		if len(imported.Files) == 0 {
			continue
		}
		written++
		refused := map[string]bool{}
		for _, v := range imported.Verdicts {
			code, _, _ := strings.Cut(v.Message, ":")
			refused[v.Object+" "+code] = v.Verdict == "refused"
		}
		var valid struct {
			Problems []struct {
				Code, Severity, Message string
				Object                  struct{ Kind, Namespace, Name string }
			}
		}
		readCommand(t, &valid, "validate", out, "--secret-dir", filepath.Join(folder, "secrets"), "-o", "json")
		for _, p := range valid.Problems {
			object := p.Object.Kind + "/" + p.Object.Namespace + "/" + p.Object.Name
			if p.Severity == "error" && !refused[object+" "+p.Code] {
				t.Errorf("%s: %s of %s is not in the report: %s", file.Name, p.Code, object, p.Message)
			}
		}
	}
	if written < 45 {
		t.Errorf("only %d of %d manifests are written", written, len(archive.Files))
	}
}

// readCommand runs a command and decodes its JSON. It must not fail but for what it finds.
func readCommand(t *testing.T, into any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(args, &stdout, &stderr); code > exitFindings {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}
