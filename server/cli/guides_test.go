package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A question that a guide asks the YAML above it gets the answer that the guide says.
func TestGuidesExplainTruly(t *testing.T) {
	pages, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	question := regexp.MustCompile(`(?m)^gatefold (explain DIR .*?) +# → (.*?)( of …)?$`)
	asked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		for _, at := range question.FindAllSubmatchIndex(text, -1) {
			asked++
			found := question.FindSubmatch(text[at[0]:])
			blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text[:at[0]], -1)
			above := besideFirst(string(blocks[0][1]), string(blocks[len(blocks)-1][1]))
			if err := os.WriteFile(filepath.Join(folder, "guide.yaml"), []byte(above), 0o600); err != nil {
				t.Fatal(err)
			}
			args := words(string(found[1]))
			args[1] = folder
			var stdout, stderr bytes.Buffer
			Main(args, &stdout, &stderr)
			if want := "→ " + string(found[2]); !strings.Contains(stdout.String(), want) {
				t.Errorf("%s: %s\nwant %s, got:\n%s%s", filepath.Base(page), found[0], want, &stdout, &stderr)
			}
		}
	}
	if asked < 5 {
		t.Errorf("guides ask %d questions, more are known", asked)
	}
}

// besideFirst returns a block of a page, and where it has no Gateway, the first block of that page without its routes
// beside it.
func besideFirst(first, block string) string {
	if strings.Contains(block, "kind: Gateway\n") {
		return block
	}
	for document := range strings.SplitSeq(first, "---\n") {
		if !strings.Contains(document, "kind: HTTPRoute\n") {
			block += "---\n" + document
		}
	}
	return block
}

// words splits a command as a shell does, with quotation marks of one kind.
func words(command string) []string {
	quoted := false
	all := strings.FieldsFunc(command, func(c rune) bool {
		if c == '\'' {
			quoted = !quoted
		}
		return c == ' ' && !quoted
	})
	for i := range all {
		all[i] = strings.Trim(all[i], "'")
	}
	return all
}
