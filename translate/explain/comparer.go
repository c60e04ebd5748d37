package explain

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxEffort bounds the cost of the regular expressions that one query compares, in steps. That many steps need
// a few seconds. A virtual host with 100,000 expressions of usual length needs fewer steps for a usual path.
const maxEffort = 1 << 30

// comparer compares the path and values of one query with what rules want. It limits the total cost of the
// regular expressions, and stops comparing them at the limit (see spent).
type comparer struct {
	left int // the steps until the limit is reached
}

func newComparer() *comparer { return &comparer{maxEffort} }

// spent reports whether the limit was reached, so that an expression was not compared. The answer is then
// incomplete.
func (c *comparer) spent() bool { return c.left < 0 }

// matchesWhole reports whether a regular expression matches a whole value, as the function matchesWhole does. If the
// literal beginning of the expression is not enough to decide this, it subtracts the cost of the comparison from
// c.left, and returns false if c.left is then negative (see spent). To compile an expression costs as much as to
// compare 256 bytes.
func (c *comparer) matchesWhole(pattern, value string) bool {
	const compiling = 256
	if !strings.HasPrefix(value, literalPrefix(pattern)) {
		return false
	}
	if c.left -= (len(value) + compiling) * (len(pattern) + 1); c.spent() {
		return false
	}
	return matchesWhole(pattern, value)
}

// matchesPath reports whether a path meets a path match.
func (c *comparer) matchesPath(want ir.Path, path string) bool {
	switch want.Kind {
	case ir.PathExact:
		return path == want.Value
	case ir.PathRegex:
		return c.matchesWhole(want.Value, path)
	}
	return scope.CoversPath(want.Value, path)
}

// compareAny compares the values of a header or query parameter with a condition (the parameter want). It returns one
// of these verdicts, with the reason as text:
//   - takes: one of the values meets the condition. The reason is "".
//   - may: no known value meets the condition, but an unknown value can meet it.
//   - misses: no value can meet the condition.
func (c *comparer) compareAny(want ir.ValueMatch, values []string) (verdict, string) {
	for _, value := range values {
		if want.Regex && isKnown(value) && c.matchesWhole(want.Value, value) || !want.Regex && value == want.Value ||
			want.Regex && takesAll(want.Value) && value != "" {
			return takes, ""
		}
	}
	for _, value := range values {
		if !isKnown(value) && (want.Regex || mayEqual(value, want.Value)) {
			return may, fmt.Sprintf("%s is %q, which may be %q", want.Name, shown(value), want.Value)
		}
	}
	switch {
	case len(values) == 0:
		return misses, want.Name + " is missing"
	case want.Regex:
		return misses, fmt.Sprintf("%s is %q and does not match %q", want.Name, allShown(values), want.Value)
	}
	return misses, fmt.Sprintf("%s is %q, not %q", want.Name, allShown(values), want.Value)
}

// allShown returns the values with placeholders for unknown parts.
func allShown(values []string) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = shown(value)
	}
	return out
}
