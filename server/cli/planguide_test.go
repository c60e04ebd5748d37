package cli

import (
	"os"
	"strings"
	"testing"
)

// What docs/guides/plan.md shows of a plan is what the script of plan compares; UPDATE=1 rewrites it.
func TestPlanGuideShowsWhatPlanPrints(t *testing.T) {
	const guide, fence = "../../docs/guides/plan.md", "```markdown\n"
	script, err := os.ReadFile("testdata/plan.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, printed, _ := strings.Cut(string(script), "\n-- plan.md --\n")
	before, rest, found := strings.Cut(string(text), fence)
	shown, after, ended := strings.Cut(rest, "```\n")
	if !found || !ended || printed == "" {
		t.Fatal("the guide has no block of markdown, or the script no plan.md")
	}
	if shown == printed {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("UPDATE=1 rewrites the example; the script has\n%s", printed)
	}
	if err := os.WriteFile(guide, []byte(before+fence+printed+"```\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
