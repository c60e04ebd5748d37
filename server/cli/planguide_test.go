package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What docs/guides/plan.md shows as the comment of a pull request is what plan prints for the diff above it, the
// lines of which are the whole file before and after. UPDATE=1 rewrites the comment.
func TestPlanGuideShowsWhatPlanPrints(t *testing.T) {
	const guide, fence = "../../docs/guides/plan.md", "```markdown\n"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```diff\n")
	diff, _, found := strings.Cut(rest, "```\n")
	before, rest, shows := strings.Cut(string(text), fence)
	shown, after, ended := strings.Cut(rest, "```\n")
	if !found || !shows || !ended {
		t.Fatal("the guide has no diff, or no comment")
	}
	folders := [2]string{t.TempDir(), t.TempDir()}
	for side, folder := range folders {
		if err := os.WriteFile(filepath.Join(folder, "shop.yaml"), []byte(sideOfDiff(t, diff, side)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"plan", folders[0], folders[1], "-o", "markdown"}, &stdout, &stderr); code != 1 || stderr.Len() > 0 {
		t.Fatalf("exit code %d, %s", code, &stderr)
	}
	if printed := stdout.String(); shown != printed {
		if os.Getenv("UPDATE") == "" {
			t.Fatalf("UPDATE=1 rewrites the example; plan prints\n%s", printed)
		}
		if err := os.WriteFile(guide, []byte(before+fence+printed+"```\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// sideOfDiff returns the text before (0) or after (1) a diff without headers.
func sideOfDiff(t *testing.T, diff string, side int) string {
	t.Helper()
	var out strings.Builder
	changed := 0
	for line := range strings.Lines(diff) {
		switch line[0] {
		case " -+"[1+side]:
			changed++
			out.WriteString(line[1:])
		case ' ':
			out.WriteString(line[1:])
		case '-', '+':
		default:
			t.Fatalf("the diff has the line %q", line)
		}
	}
	if changed == 0 {
		t.Fatal("the diff changes nothing")
	}
	return out.String()
}
