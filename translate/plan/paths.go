package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// index finds the entries of a table by their path match. An exact path is found by its value, and a prefix by its
// value without a slash at its end. Regular expressions are in one list.
type index struct {
	exact, prefix map[string][]*entry
	regex         []*entry
}

// newIndex returns the index of a table.
func newIndex(t *table) *index {
	x := &index{exact: map[string][]*entry{}, prefix: map[string][]*entry{}}
	for _, e := range t.entries {
		switch path := e.rule.Match.Path; path.Kind {
		case ir.PathExact:
			x.exact[path.Value] = append(x.exact[path.Value], e)
		case ir.PathRegex:
			x.regex = append(x.regex, e)
		default:
			value := segments(path.Value)
			x.prefix[value] = append(x.prefix[value], e)
		}
	}
	return x
}

// segments returns a prefix without a slash at its end. For "/" it returns "".
func segments(prefix string) string { return strings.TrimSuffix(prefix, "/") }

// at returns the entries whose path match covers a path, in the order of the table. The list ends after the
// first entry that has no other condition, because later entries never match.
func (x *index) at(path string, patterns patterns) []*entry {
	list := slices.Clone(x.exact[path])
	for end := len(path); end >= 0; end = strings.LastIndexByte(path[:end], '/') {
		list = append(list, x.prefix[path[:end]]...)
		if end == 0 {
			break
		}
	}
	for _, e := range x.regex {
		if patterns.match(e.rule.Match.Path.Value, path) {
			list = append(list, e)
		}
	}
	list = slices.DeleteFunc(list, func(e *entry) bool { return !scope.CoversPath(e.rule.Match.Within, path) })
	slices.SortFunc(list, func(a, b *entry) int { return a.place - b.place })
	for i, e := range list {
		if m := &e.rule.Match; m.Method == "" && len(m.Headers) == 0 && len(m.Query) == 0 {
			return list[:i+1]
		}
	}
	return list
}

// all returns the entries that are in the same list of the index as the parameter path. For an exact path, these are
// the entries with the same exact path. For a prefix, these are the entries with the same prefix. For a regular
// expression, these are all entries with any regular expression.
func (x *index) all(path ir.Path) []*entry {
	switch path.Kind {
	case ir.PathExact:
		return x.exact[path.Value]
	case ir.PathRegex:
		return x.regex
	}
	return x.prefix[segments(path.Value)]
}

// counterpart returns the entry of this index that has the same match as the entry e, or nil if there is none. The
// entry e comes from the table of the other configuration.
func (x *index) counterpart(e *entry) *entry {
	if e.twin != nil {
		return e.twin
	}
	for _, other := range x.all(e.rule.Match.Path) {
		if other.match == e.match {
			return other
		}
	}
	return nil
}

// patterns caches compiled regular expressions.
type patterns map[string]*regexp.Regexp

// match reports whether an expression matches a whole value. An invalid expression matches nothing.
func (p patterns) match(pattern, value string) bool {
	expression, known := p[pattern]
	if !known {
		expression, _ = explain.CompilePattern(pattern) // nil matches nothing
		p[pattern] = expression
	}
	return expression != nil && expression.MatchString(value)
}

// pathClasses divides the paths of requests into classes, for the rules of two tables. All paths of a class
// match the same rules, so one path of each class is enough to compare the tables.
type pathClasses struct {
	before, after *index
	// exact are the exact paths of both tables. prefixes are their path prefixes, the prefixes in Match.Within, and
	// "". The prefixes have no slash at the end. Both lists are sorted.
	exact, prefixes []string
	expressions     []string
	patterns        patterns
	// unsure is true if some classes of the regular expressions may be missing.
	unsure bool
}

// newPathClasses returns the path classes of two tables. The parameter known caches the regular expressions.
func newPathClasses(before, after *table, known patterns) *pathClasses {
	c := &pathClasses{before: newIndex(before), after: newIndex(after), patterns: known}
	for _, x := range []*index{c.before, c.after} {
		for value := range x.exact {
			c.exact = append(c.exact, value)
		}
		for value := range x.prefix {
			c.prefixes = append(c.prefixes, value)
		}
		for _, e := range x.regex {
			c.expressions = append(c.expressions, e.rule.Match.Path.Value)
			c.prefixes = append(c.prefixes, segments(e.rule.Match.Within))
		}
		for _, list := range x.prefix {
			for _, e := range list {
				c.prefixes = append(c.prefixes, segments(e.rule.Match.Within))
			}
		}
	}
	c.prefixes = append(c.prefixes, "")
	for _, list := range []*[]string{&c.exact, &c.prefixes, &c.expressions} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c
}

// around returns example paths of requests that the given entries may match. For an entry with an exact path, the
// example is this path. For an entry with a prefix, the examples are one path of each path class below the prefix,
// and paths for all regular expressions of the old and the new table. around ignores entries with a regular
// expression (see finder.byExpressions). The parameter most is the budget for finding paths for regular expressions.
func (c *pathClasses) around(entries []*entry, most *budget) []string {
	var paths []string
	everywhere := map[string]bool{}
	for _, e := range entries {
		switch path := e.rule.Match.Path; path.Kind {
		case ir.PathExact:
			paths = append(paths, path.Value)
		case ir.PathRegex: // see finder.byExpressions
		default:
			everywhere[segments(path.Value)] = true
		}
	}
	for prefix := range everywhere {
		if !insideAnother(prefix, everywhere) {
			paths = append(paths, below(c.exact, prefix)...)
			for _, p := range below(c.prefixes, prefix) {
				paths = append(paths, c.member(p))
			}
		}
	}
	if len(everywhere) > 0 {
		paths = append(paths, c.byExpression(most)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// insideAnother reports whether a prefix is below another prefix of the set. Prefixes are compared by whole
// segments: /a/b is below /a, but /ab is not.
func insideAnother(prefix string, set map[string]bool) bool {
	for end := strings.LastIndexByte(prefix, '/'); end >= 0; end = strings.LastIndexByte(prefix[:end], '/') {
		if set[prefix[:end]] {
			return true
		}
	}
	return false
}

// below returns the paths in a sorted list that equal a path prefix, or that continue the prefix after a slash.
func below(sorted []string, prefix string) []string {
	var out []string
	from, _ := slices.BinarySearch(sorted, prefix)
	for _, value := range sorted[from:] {
		if !strings.HasPrefix(value, prefix) {
			break
		}
		if scope.CoversPath(prefix, value) {
			out = append(out, value)
		}
	}
	return out
}

// member returns an example path that belongs to the path class of prefix (see isMember). If possible, the path
// matches no regular expression of the two tables that are compared.
func (c *pathClasses) member(prefix string) string {
	choices := []string{prefix, prefix + "/", prefix + "/any", prefix + "/any-other", prefix + "/~any", prefix + "/any/other", prefix + "/0"}
	fallback := ""
	for _, path := range choices {
		if path == "" || !c.isMember(path, prefix) {
			continue
		}
		if !slices.ContainsFunc(c.expressions, func(e string) bool { return c.patterns.match(e, path) }) {
			return path
		}
		if fallback == "" {
			fallback = path
		}
	}
	if fallback == "" {
		return c.fresh(prefix)
	}
	return fallback
}

// fresh returns an example path of the path class of prefix. The method member calls fresh if no simple path belongs
// to this class. fresh appends "-" to prefix+"/any" until the path belongs to the class.
func (c *pathClasses) fresh(prefix string) string {
	path := prefix + "/any"
	for !c.isMember(path, prefix) {
		path += "-"
	}
	return path
}

// isMember reports whether the path belongs to the path class of prefix. The path must equal prefix or be below it.
// It must not equal a longer prefix in c.prefixes or be below one, and it must not be an exact path of a rule.
func (c *pathClasses) isMember(path, prefix string) bool {
	if _, is := slices.BinarySearch(c.exact, path); is {
		return false
	}
	for end := len(path); end > len(prefix); end = strings.LastIndexByte(path[:end], '/') {
		if _, is := slices.BinarySearch(c.prefixes, path[:end]); is {
			return false
		}
	}
	return scope.CoversPath(prefix, path)
}
