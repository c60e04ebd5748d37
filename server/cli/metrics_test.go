package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameMetricsThatExist holds the documents to what /metrics shows.
func TestDocsNameMetricsThatExist(t *testing.T) {
	var source strings.Builder
	for _, pattern := range []string{"*.go", "../*.go", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				source.WriteString(read(t, name))
			}
		}
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range append(documents, "../../README.md") {
		for _, metric := range regexp.MustCompile(`\bgatefold_[a-z_]+[a-z]\b`).FindAllString(read(t, name), -1) {
			found++
			if !strings.Contains(source.String(), `"`+metric+`"`) {
				t.Errorf("%s names %s, which no figure is called", name, metric)
			}
		}
	}
	if found == 0 {
		t.Error("no document names a metric")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
