package health

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestDocumentsNameEveryReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := bytes.Cut(text, []byte("\n## gatefold status\n"))
	for reason := range words {
		if !bytes.Contains(section, []byte("`"+string(reason)+"`")) {
			t.Errorf("docs/json.md does not tell of %q", reason)
		}
	}
}
