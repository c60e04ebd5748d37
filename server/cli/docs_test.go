package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/explain"
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

// Every key that explain can print is told in docs/json.md.
func TestJSONDocumentNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile(jsonDocument)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	addKeys(reflect.TypeFor[explain.Report](), keys)
	if len(keys) < 30 {
		t.Fatalf("only %d keys found", len(keys))
	}
	for key := range keys {
		if !bytes.Contains(text, []byte("`"+key+"`")) {
			t.Errorf("docs/json.md does not tell of %q", key)
		}
	}
}

func addKeys(typ reflect.Type, keys map[string]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		addKeys(typ.Elem(), keys)
	case reflect.Struct:
		for i := range typ.NumField() {
			if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "" {
				keys[name] = true
			}
			addKeys(typ.Field(i).Type, keys)
		}
	}
}
