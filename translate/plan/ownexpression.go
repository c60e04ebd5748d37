package plan

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxOwn is the number of changed entries after which byExpressions tries no further entry. byExpressions tries only
// entries with a regular expression, but all changed entries count. An entry with a regular expression that comes
// later is not tried, and gets the reason tooMany.
const maxOwn = 512

// byExpressions searches pairs of rules (see pair) for each changed entry whose path is a regular expression. It
// chooses example paths that the expression matches, and tries the pairs for these paths (see finder.at). To choose
// the paths, it considers only the rules that can match the same paths as the expression (see besides). To consider
// all rules of a large table would be too expensive. If the search for an entry is incomplete, byExpressions records
// the reason in f.unsure.
func (f *finder) byExpressions(changed []*entry) {
	for i, e := range changed {
		if e.rule.Match.Path.Kind != ir.PathRegex || f.spent() {
			continue
		}
		if i >= maxOwn {
			f.unsure[e] = tooMany
			continue
		}
		own := f.classes.besides(e)
		paths := append(own.byExpression(f.budget), own.exact...)
		matched := false
		for _, path := range paths {
			if f.classes.patterns.match(e.rule.Match.Path.Value, path) {
				matched = true
				f.at(path)
			}
		}
		switch _, ok := newAutomaton(e.rule.Match.Path.Value); {
		case !ok:
			f.unsure[e] = `plan finds no path for an expression with word boundaries (\b, \B)`
		case !matched:
			f.unsure[e] = "no path was found that the expression matches"
		case own.unsure:
			f.unsure[e] = "not all paths were tried that the expression matches"
		}
	}
}

// besides returns a smaller copy of c for one entry whose path is a regular expression. The copy has only those
// paths, prefixes and expressions that can match the same paths as the entry's expression. besides decides this by
// the literal text at the beginning of the expression (see patterns.start).
func (c *pathClasses) besides(e *entry) *pathClasses {
	start := c.patterns.start(e.rule.Match.Path.Value)
	may := func(other string) bool { return strings.HasPrefix(start, other) || strings.HasPrefix(other, start) }
	own := &pathClasses{before: c.before, after: c.after, patterns: c.patterns, prefixes: []string{""}}
	for _, value := range c.exact {
		if strings.HasPrefix(value, start) {
			own.exact = append(own.exact, value)
		}
	}
	for _, value := range c.prefixes {
		if value != "" && may(value) {
			own.prefixes = append(own.prefixes, value)
		}
	}
	for _, pattern := range c.expressions {
		if may(c.patterns.start(pattern)) {
			own.expressions = append(own.expressions, pattern)
		}
	}
	return own
}

// start returns a literal text that every match of an expression begins with. It returns "" if it finds none, or if
// the expression is invalid.
func (p patterns) start(pattern string) string {
	key := "\x00" + pattern // a key that no expression of a folder has
	compiled, known := p[key]
	if !known {
		compiled, _ = counted.Matcher(pattern, pattern) // not anchored: LiteralPrefix returns "" after ^
		p[key] = compiled
	}
	if compiled == nil {
		return ""
	}
	start, _ := compiled.LiteralPrefix()
	return start
}

// tooMany is the reason that users see if plan has no example request because a limit ended the search for one.
const tooMany = "there are too many combinations of rules to try"

// whyUnfound returns why the search for requests that reach an entry is incomplete. It returns "" if the search
// is complete.
func (f *finder) whyUnfound(e *entry) string {
	if f.spent() {
		return tooMany
	}
	return f.unsure[e]
}

// isBefore reports whether an entry belongs to the table of the old configuration. It returns false for an entry of
// the new configuration's table.
func (f *finder) isBefore(e *entry) bool {
	return slices.Contains(f.classes.before.all(e.rule.Match.Path), e)
}
