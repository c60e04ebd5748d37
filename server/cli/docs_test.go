package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gatefold/gatefold/server/admin"
)

const jsonDocument = "../../docs/json.md"

// What docs/json.md shows of explain is what it prints; UPDATE=1 rewrites it.
func TestJSONDocumentShowsWhatExplainPrints(t *testing.T) {
	text, err := os.ReadFile(jsonDocument)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "shop.yaml"), block(t, text, "yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"explain", "-o", "json", folder, "GET", "http://shop.example.com:8080/cart/1", "-H", "x-env: prod"}
	if code := Main(args, &stdout, &stderr); code != exitFine {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if shown := block(t, text, "json"); !bytes.Equal(shown, stdout.Bytes()) {
		if os.Getenv("UPDATE") == "" {
			t.Fatalf("UPDATE=1 rewrites the example; printed is\n%s", stdout.String())
		}
		updated := bytes.Replace(text, append([]byte("```json\n"), shown...), append([]byte("```json\n"), stdout.Bytes()...), 1)
		if err := os.WriteFile(jsonDocument, updated, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// block is the first block of a language.
func block(t *testing.T, text []byte, language string) []byte {
	t.Helper()
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("no block of %s", language)
	}
	return found[1]
}

// What docs/json.md shows of status has the shape that it prints.
func TestJSONDocumentShowsAStatus(t *testing.T) {
	text, err := os.ReadFile(jsonDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := bytes.Cut(text, []byte("\n## gatefold status\n"))
	shown := block(t, section, "json")
	var list statusList
	decoder := json.NewDecoder(bytes.NewReader(shown))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := writeValue(&printed, formatJSON, list); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shown, printed.Bytes()) {
		t.Errorf("printed is\n%s", printed.String())
	}
}

// What docs/json.md shows of a reload has the shape of the answer.
func TestJSONDocumentShowsAReload(t *testing.T) {
	text, err := os.ReadFile(jsonDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := bytes.Cut(text, []byte("\n## gatefold reload\n"))
	shown := block(t, section, "json")
	var page struct {
		Status string `json:"status"`
		admin.Reloaded
	}
	decoder := json.NewDecoder(bytes.NewReader(shown))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&page); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := writeValue(&printed, formatJSON, page); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shown, printed.Bytes()) {
		t.Errorf("printed is\n%s", printed.String())
	}
}
