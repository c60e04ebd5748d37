package schema

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestKindsPage wants a row in docs/reference/kinds.md for each kind that is read, and in the rows of kgateway's kinds
// the name of each field below spec that is served.
func TestKindsPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "kinds.md"))
	if err != nil {
		t.Fatal(err)
	}
	rowOf := func(kind string) string {
		return string(regexp.MustCompile(`(?m)^\|[^|]*\b` + kind + `\b[^|]*\|.*$`).Find(page))
	}
	for _, k := range slices.Concat(crdKinds(), coreKinds()) {
		row := rowOf(k.Kind)
		if row == "" {
			t.Errorf("docs/reference/kinds.md has no row for %s", k.Kind)
		}
		if k.Group != "gateway.kgateway.dev" {
			continue
		}
		spec := internalSchema(k.crd[k.versions[0]].read()).Properties["spec"]
		for _, name := range slices.Sorted(maps.Keys(spec.Properties)) {
			field := regexp.MustCompile("`(?:\\w+\\.)*" + name + "[`.]")
			if !field.MatchString(row) && !slices.Contains(readNotServed().Fields[k.Kind], "spec."+name) {
				t.Errorf("docs/reference/kinds.md does not name the field %s of %s", name, k.Kind)
			}
		}
	}
}
