// Package codes is the list of all codes of problems: what causes each one and how a
// user fixes it. docs/reference/problems.md is generated from it, and testdata has an
// example of each code that `gatefold validate` can find.
package codes

import (
	"cmp"
	"slices"
	"strings"
)

// Severity says how serious the problems of a code are.
type Severity string

// The severities. Problems of a code with Either are errors or warnings, depending on the
// object.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Either  Severity = "error or warning"
)

// Entry describes one code.
type Entry struct {
	Name     string
	Severity Severity
	Cause    string // what is wrong and what it means for traffic
	Fix      string // what to do
}

// page is where the entries are published, each under the lower-case name of its code.
const page = "https://github.com/gatefold/gatefold/blob/main/docs/reference/problems.md"

// URL returns the address of a code's entry, or of the whole page for an unknown code.
func URL(code string) string {
	if _, ok := Find(code); !ok {
		return page
	}
	return page + "#" + strings.ToLower(code)
}

// All returns the entries of all codes, sorted by name.
func All() []Entry {
	all := slices.Concat(ofFiles(), ofObjects(), ofGateways(), ofRoutes(), ofPolicies())
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Find returns the entry of a code.
func Find(code string) (Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == code })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}
