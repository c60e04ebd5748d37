package page

import (
	"os"
	"strings"
	"testing"
)

// docs/guides/page.md says what each page of the navigation shows.
func TestTheGuideNamesEveryPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/page.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range entries() {
		if !strings.Contains(string(text), "\n| "+page.Title+" | ") {
			t.Errorf("the guide does not say what %s shows", page.Title)
		}
	}
}
