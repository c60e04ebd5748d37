// Package advisory knows published security advisories of Envoy: which versions are affected, and which version of the
// same minor version has the fix. The table is a file in the package (advisories.txt), and a user can give a newer one.
package advisory

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed advisories.txt
var builtin string

// Table has advisories, sorted by their first id.
type Table []Advisory

// Advisory is one published advisory.
type Advisory struct {
	// IDs are its names in public lists: CVE-… or GHSA-…, at least one.
	IDs []string
	// Words say what happens on an affected Envoy.
	Words string

	since version   // the first affected version
	fixed []version // the first fixed version of each minor version, in ascending order
}

// Holes are the advisories that affect one version of Envoy.
type Holes struct {
	Advisories []Advisory
	// Fixed is a version that no advisory of the table affects: of the same minor version, or of the oldest minor
	// version that has the fixes.
	Fixed string
}

// maxTable limits the size of a table that a user gives, in bytes.
const maxTable = 1 << 20

// Builtin returns the table of the program.
func Builtin() Table {
	table, err := parse(builtin)
	if err != nil {
		panic(err) // a test parses it
	}
	return table
}

// Read returns the table in a file, or Builtin for the name "". The error names the file, and the line that is wrong.
func Read(name string) (Table, error) {
	if name == "" {
		return Builtin(), nil
	}
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxTable) {
		err = fmt.Errorf("%s is not a file of at most %d bytes", name, maxTable)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	table, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return table, nil
}

// Of returns the advisories that affect a version of Envoy, such as "1.38.3". If none does, or if the text is not a
// version, the result has no advisories.
func (t Table) Of(envoy string) (holes Holes) {
	v, ok := parseVersion(envoy)
	if !ok {
		return holes
	}
	for _, a := range t {
		if _, affected := a.affects(v); affected {
			holes.Advisories = append(holes.Advisories, a)
		}
	}
	if len(holes.Advisories) > 0 {
		holes.Fixed = t.sound(v).String()
	}
	return holes
}

// sound returns the first version from v on that no advisory affects. The fix of one advisory can itself be affected
// by another one.
func (t Table) sound(v version) version {
	for {
		next := v
		for _, a := range t {
			if fix, affected := a.affects(next); affected {
				next = fix
			}
		}
		if next == v {
			return v
		}
		v = next
	}
}

// Summary names the advisories in one line: the first three, and the number of the others.
func (h Holes) Summary() string {
	const shown = 3
	var names []string
	for _, a := range h.Advisories[:min(len(h.Advisories), shown)] {
		names = append(names, a.IDs[0])
	}
	if more := len(h.Advisories) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// URL returns the page of the advisory.
func (a Advisory) URL() string {
	for _, id := range a.IDs {
		if strings.HasPrefix(id, "GHSA-") {
			return "https://github.com/envoyproxy/envoy/security/advisories/" + id
		}
	}
	return "https://nvd.nist.gov/vuln/detail/" + a.IDs[0]
}

// affects reports whether the advisory affects a version, and which version has the fix. For a version whose minor
// version has no fix, that is the first fixed version which is newer.
func (a Advisory) affects(v version) (fix version, affected bool) {
	if v < a.since {
		return 0, false
	}
	for _, f := range a.fixed {
		if v.minor() <= f.minor() {
			return f, v < f
		}
	}
	return 0, false
}

// version is a version of Envoy as a number that can be compared.
type version uint64

// The digits of a version that belong to its patch and minor numbers.
const patches, minors = 1_000, 1_000_000

// aVersion matches a version such as 1.40.0, also with a suffix such as -dev.
var aVersion = regexp.MustCompile(`^(\d{1,3})\.(\d{1,3})\.(\d{1,3})(-[0-9A-Za-z.]+)?$`)

// parseVersion reads a version such as "1.40.0". "0" is older than all versions.
func parseVersion(text string) (v version, ok bool) {
	if text == "0" {
		return 0, true
	}
	parts := aVersion.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	for _, part := range parts[1:4] {
		number, _ := strconv.ParseUint(part, 10, 16) // the expression allows nothing else
		v = v*patches + version(number)
	}
	return v, true
}

// minor returns the version without its patch number.
func (v version) minor() version { return v / patches }

// String returns the version as text.
func (v version) String() string {
	return fmt.Sprintf("%d.%d.%d", v/minors, v/patches%patches, v%patches)
}

// anID matches the id of an advisory.
var anID = regexp.MustCompile(`^(CVE-\d{4}-\d{4,}|GHSA(-[0-9a-z]{4}){3})$`)

// parse reads a table. The error names the line that is wrong.
func parse(text string) (table Table, err error) {
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		a, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		for _, id := range a.IDs {
			if seen[id] {
				return nil, fmt.Errorf("line %d: %s has two rows", i+1, id)
			}
			seen[id] = true
		}
		table = append(table, a)
	}
	if len(table) == 0 {
		return nil, errors.New("no row: ids | first affected version | first fixed versions | words")
	}
	slices.SortStableFunc(table, func(a, b Advisory) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	return table, nil
}

// parseLine reads one row of a table. The error says what is wrong.
func parseLine(line string) (a Advisory, err error) {
	columns := strings.Split(line, "|")
	if len(columns) != 4 {
		return a, fmt.Errorf("%d columns, want 4: ids | first affected version | first fixed versions | words", len(columns))
	}
	a.IDs, a.Words = strings.Fields(columns[0]), strings.TrimSpace(columns[3])
	for _, id := range a.IDs {
		if !anID.MatchString(id) {
			return a, fmt.Errorf("%q is not an id: CVE-2026-12345 or GHSA-abcd-efgh-ijkl", id)
		}
	}
	since, ok := parseVersion(strings.TrimSpace(columns[1]))
	if !ok {
		return a, fmt.Errorf("%q is not a version: 1.36.0, or 0 for the first one", strings.TrimSpace(columns[1]))
	}
	a.since = since
	for _, text := range strings.Fields(columns[2]) {
		fix, ok := parseVersion(text)
		if last := len(a.fixed) - 1; !ok || last >= 0 && a.fixed[last].minor() >= fix.minor() {
			return a, fmt.Errorf("%q is not the first fixed version of a further minor version, in ascending order", text)
		}
		a.fixed = append(a.fixed, fix)
	}
	switch {
	case len(a.IDs) == 0 || len(a.fixed) == 0 || a.Words == "":
		return a, errors.New("a column is empty")
	case a.since >= a.fixed[0]:
		return a, fmt.Errorf("the first fixed version %s is not newer than the first affected one, %s", a.fixed[0], a.since)
	}
	return a, nil
}
