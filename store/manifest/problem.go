package manifest

import (
	"cmp"
	"slices"
)

// Severity says how serious a Problem is.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // something is not used, or its last valid version is used
	Warning Severity = "warning" // everything is used, but something probably not in the intended way
)

// Problem is one mistake in the user's files. It has the same text in validate, status, admin pages and log. It
// is a value, never an error.
type Problem struct {
	// Code is the stable name of the type of mistake, such as UnknownField.
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// File, Line and Column are the place of the mistake. Line and Column count from 1, Column in characters.
	// translate leaves them empty and sets Object and Field; Store.Locate fills them in.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Object is the object with the mistake. It is zero if the document could not be parsed.
	Object Key `json:"object,omitzero"`
	// Field is the path of the field in the object: spec.rules[0].matches[1].path.value.
	Field string `json:"field,omitempty"`
	// Message says what is wrong; Hint says what to do.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Cause is the field of another object that causes the problem, zero if there is none. Store.Locate adds
	// its file and line to Message.
	Cause Field `json:"-"`
	// Excerpt is the line of the place, and below it carets that mark the place. It is always empty for
	// Secrets.
	Excerpt string `json:"excerpt,omitempty"`
	// Unserved are the policies that the problem reports as not served. It is nil if there are none.
	Unserved *[]Unserved `json:"-"`
}

// Unserved is a policy of a kind that gatefold does not serve.
type Unserved struct {
	Policy Key
	// Targets are the policy's targets as text, such as "HTTPRoute shop/cart". A rule or listener is "HTTPRoute
	// shop/cart#rule". A selector is "each HTTPRoute in namespace shop with app=cart,tier in (a,b)", in the
	// syntax of kubectl --selector. Without labels it is "each HTTPRoute in namespace shop".
	Targets []string
	// File, Line and Column are the place at which the policy is written. They are zero if the Problem has the
	// same place.
	File         string
	Line, Column int
}

// SortProblems orders problems by place, then by object, field, code and message.
func SortProblems(problems []Problem) {
	slices.SortFunc(problems, compareProblems)
}

// compareProblems orders problems as SortProblems does. It compares objects and texts only if the places are
// equal, because most problems are in different files.
func compareProblems(a, b Problem) int {
	if c := cmp.Compare(a.File, b.File); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)); c != 0 {
		return c
	}
	if c := CompareKeys(a.Object, b.Object); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
}

// Field is a field of an object, or the object itself if Path is "".
type Field struct {
	Object Key
	// Path has the form of Problem.Field: spec.rules[0].matches[1].
	Path string
}

// Count returns how many problems are errors, and how many are warnings.
func Count(problems []Problem) (errors, warnings int) {
	for _, p := range problems {
		if p.Severity == Error {
			errors++
		}
	}
	return errors, len(problems) - errors
}
