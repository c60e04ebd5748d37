package translate_test

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/memo"
)

// rulesPage has a row for each rule and fold.
const rulesPage = "../docs/design/rules.md"

// ruleRow is a row of rulesPage: name, key, reads and value.
var ruleRow = regexp.MustCompile("(?m)^\\| `([^|`]+)` \\| ([^|]*) \\| ([^|]*) \\| ([^|]*) \\|$")

// TestMapOfRules runs every case and compares what rules and folds depended on with the map of
// rules. UPDATE=1 rewrites the column of what they read, and adds the rows that are missing; their
// keys and values are written by hand.
func TestMapOfRules(t *testing.T) {
	names, reads := dependencies(t)
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	keys, values := map[string]string{}, map[string]string{}
	for _, row := range ruleRow.FindAllStringSubmatch(string(page), -1) {
		keys[row[1]], values[row[1]] = row[2], row[4]
	}
	var rows strings.Builder
	for _, name := range names {
		if keys[name] == "" || values[name] == "" {
			t.Errorf("%s: write the key and the value of `%s`", rulesPage, name)
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", name, keys[name], reads[name], values[name])
	}
	at := ruleRow.FindAllIndex(page, -1)
	if len(at) == 0 {
		t.Fatalf("%s has no rows", rulesPage)
	}
	want := string(page[:at[0][0]]) + strings.TrimSuffix(rows.String(), "\n") + string(page[at[len(at)-1][1]:])
	switch {
	case want == string(page):
	case os.Getenv("UPDATE") != "":
		if err := os.WriteFile(rulesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from what the rules read, at %s\n(UPDATE=1 go test ./translate -run TestMapOfRules rewrites it)", rulesPage, firstDifference(want, string(page)))
	}
}

// dependencies returns the names of all rules and folds in the order of their declaration, and in
// words what those of each name were seen to depend on in any case.
func dependencies(t *testing.T) (names []string, words map[string]string) {
	all, err := cases.Load("testdata")
	if err != nil || len(all) == 0 {
		t.Fatal("no cases", err)
	}
	found := map[string]memo.Family{}
	see := func(families []memo.Family) {
		for _, f := range families {
			of := found[f.Name]
			found[f.Name] = memo.Family{Name: f.Name, Sources: append(of.Sources, f.Sources...), Reads: append(of.Reads, f.Reads...)}
		}
	}
	declared := translate.New(translate.Options{AddressPool: netip.MustParsePrefix("10.0.0.0/24")}).Families() // a pool has rules of its own
	for _, f := range declared {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	see(declared)
	store := newWorld(t).store // it reads the schemas once
	for _, c := range all {
		store := store
		if c.Store.ClusterPaths != nil {
			store = newStore(t, c.Store)
		}
		w := startedOn(store, c.Options)
		for _, step := range c.Steps {
			w.apply(tree(step.Files))
			see(w.translator.Families())
		}
	}
	words = map[string]string{}
	for _, f := range found {
		list := func(of []string) string {
			slices.Sort(of)
			return strings.Join(slices.Compact(of), ", ")
		}
		switch {
		case len(f.Sources) > 0:
			words[f.Name] = "← " + list(f.Sources)
		default:
			words[f.Name] = list(f.Reads)
		}
	}
	return names, words
}
