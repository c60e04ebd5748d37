package advisory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The table of the program is read, and its rows are sorted.
func TestTheTableIsWellFormed(t *testing.T) {
	table, err := parse(builtin)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range table {
		if i > 0 && table[i-1].IDs[0] >= a.IDs[0] || !strings.Contains(builtin, "\n"+a.IDs[0]+" ") {
			t.Errorf("%s is not in its place", a.IDs[0])
		}
	}
	rows := 0
	for line := range strings.Lines(builtin) {
		if !strings.HasPrefix(line, "#") {
			rows++
		}
	}
	if first := slices.IndexFunc(table, func(a Advisory) bool { return a.IDs[0] == "CVE-2026-26308" }); rows != len(table) || first != 0 {
		t.Errorf("%d rows, %d advisories", rows, len(table))
	}
}

// What affects a version is what the table says of its minor version.
func TestHolesOfAVersion(t *testing.T) {
	table, err := parse(`
# a comment
CVE-2030-0001 GHSA-aaaa-bbbb-cccc | 0      | 1.37.3 1.38.1        | one
CVE-2030-0002                     | 1.37.2 | 1.37.5 1.38.3        | two
CVE-2030-0003                     | 1.38.0 | 1.38.10 1.39.1       | three
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, ids, fixed string }{
		{"1.36.9", "1", "1.37.5"}, // its minor version has no fix, and 1.37.3 fixes one advisory only
		{"1.37.0", "1", "1.37.5"},
		{"1.37.2", "1 2", "1.37.5"},
		{"1.37.3-dev", "2", "1.37.5"},
		{"1.37.5", "", ""},
		{"1.38.0", "1 2 3", "1.38.10"},
		{"1.38.9", "3", "1.38.10"},
		{"1.38.10", "", ""},
		{"1.39.0", "3", "1.39.1"},
		{"1.39.1", "", ""},
		{"1.40.0", "", ""},
		{"", "", ""},
		{"1.38", "", ""},
		{"main", "", ""},
	} {
		holes := table.Of(c.version)
		var ids []string
		for _, a := range holes.Advisories {
			ids = append(ids, a.IDs[0][len(a.IDs[0])-1:])
		}
		if got := strings.Join(ids, " "); got != c.ids || holes.Fixed != c.fixed {
			t.Errorf("%s has the holes %q, fixed by %q; want %q, %q", c.version, got, holes.Fixed, c.ids, c.fixed)
		}
	}
	if got := table[0].URL(); got != "https://github.com/envoyproxy/envoy/security/advisories/GHSA-aaaa-bbbb-cccc" {
		t.Error(got)
	}
	if got := table[1].URL(); got != "https://nvd.nist.gov/vuln/detail/CVE-2030-0002" {
		t.Error(got)
	}
	if got := (Holes{Advisories: append(table, table[0])}).Summary(); got != "CVE-2030-0001, CVE-2030-0002, CVE-2030-0003, and 1 more" {
		t.Error(got)
	}
}

// A table with a mistake is refused, with its line.
func TestMistakesInATable(t *testing.T) {
	const good = "CVE-2030-0001 | 0 | 1.37.3 | one\n"
	for line, want := range map[string]string{
		"CVE-2030-0002 | 0 | 1.37.3":              "line 2: 3 columns, want 4",
		"cve-2030-0002 | 0 | 1.37.3 | two":        `line 2: "cve-2030-0002" is not an id`,
		"CVE-2030-0002 | 1.37 | 1.37.3 | two":     `line 2: "1.37" is not a version`,
		"CVE-2030-0002 | 0 | 1.37.x | two":        `line 2: "1.37.x" is not the first fixed version`,
		"CVE-2030-0002 | 0 | 1.38.1 1.37.3 | two": `line 2: "1.37.3" is not the first fixed version`,
		"CVE-2030-0002 | 0 | 1.38.1 1.38.3 | two": `line 2: "1.38.3" is not the first fixed version`,
		"CVE-2030-0002 | 0 | | two":               "line 2: a column is empty",
		" | 0 | 1.38.1 | two":                     "line 2: a column is empty",
		"CVE-2030-0002 | 0 | 1.38.1 | ":           "line 2: a column is empty",
		"CVE-2030-0001 | 0 | 1.38.1 | two":        "line 2: CVE-2030-0001 has two rows",
		"CVE-2030-0002 | 1.38.1 | 1.38.1 | two":   "line 2: the first fixed version 1.38.1 is not newer than the first affected one, 1.38.1",
	} {
		name := filepath.Join(t.TempDir(), "advisories.txt")
		if err := os.WriteFile(name, []byte(good+line), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(name); err == nil || !strings.HasPrefix(err.Error(), name+": "+want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	if table, err := Read(""); err != nil || len(table) != len(Builtin()) {
		t.Error(err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder is read as a table")
	}
	if _, err := Read(os.DevNull); err == nil {
		t.Error("a device is read as a table")
	}
	if _, err := parse("# nothing\n"); err == nil || !strings.HasPrefix(err.Error(), "no row") {
		t.Errorf("a table without a row: %v", err)
	}
}
