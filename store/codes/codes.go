// Package codes has the list of all codes of problems, with the cause of each and what a user does to fix it.
// docs/reference/problems.md is generated from the list. testdata has an example of each code that `gatefold
// validate` can find.
package codes

import (
	"cmp"
	"slices"
	"strings"
)

// Severity says how serious the problems of a code are.
type Severity string

// The severities. Problems of a code with Either are errors or warnings, depending on the object.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Either  Severity = "error or warning"
)

// Entry describes one code.
type Entry struct {
	Name     string
	Severity Severity
	Cause    string // what is wrong, and what it means for traffic
	Fix      string // what to do
}

// page is the address of the page with all entries. The anchor of an entry is the name of its code in lower
// case.
const page = "https://github.com/gatefold/gatefold/blob/main/docs/reference/problems.md"

// URL returns the address of a code's entry. For an unknown code it returns the address of the whole page.
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

// Find returns the entry of a code. It returns false for an unknown code.
func Find(code string) (Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == code })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}
