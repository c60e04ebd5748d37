package route

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Combine combines a match of a child's rule with the parent's match (link.Point.Matcher). The first result is the
// combined match. The second result is "", or the reason why the two matches cannot be combined. The link decides how
// they are combined:
//   - Included (GEP-1058): the child's path is appended to the parent's, and all other conditions of both apply.
//   - Delegated with Inherit (EP-10943): the same, but the parent's value wins where the two have different values.
//   - Delegated without Inherit (EP-10943): the child's match must lie within the parent's, and is returned.
func Combine(link Link, child ir.Match) (match ir.Match, refused string) {
	parent := link.Point.Matcher
	switch {
	case link.Mode == Included:
		return include(parent, child)
	case child.Path.Kind == ir.PathPostfix:
		return child, "path type PathPostfix is for routes that a parent admits by allowedRoutes"
	case link.Inherit:
		return inherit(parent, child)
	}
	return within(parent, child)
}

// levels returns the settings of the delegating rules above a child (see Level). The first Level is from the root,
// and the last Level is from the child's direct parent. If the child is included (it names the parent, see Mode),
// the last Level prefers the child, whatever the parent's annotation says. So the values of an included child
// win over the values of its direct parent (docs/design/routes.md).
func (l *Link) levels() []Level {
	levels := slices.Clone(l.Point.Levels)
	if l.Mode == Included {
		levels[len(levels)-1].Priority = policy.ShallowMergePreferChild
	}
	return levels
}

// within checks whether the child's match lies within the parent's match (EP-10943, Path matching; Header, query
// parameter, and method matching). If it does, within returns the child's match and ""; otherwise it returns the
// reason. Paths are compared by segments. If the child's path is a regular expression, the result also requires
// the parent's path (ir.Match.Within).
func within(parent, child ir.Match) (ir.Match, string) {
	if parent.Path.Kind != ir.PathPrefix {
		return child, "the parent's path is not of type PathPrefix, so that nothing can lie within it"
	}
	prefix := trimSlash(parent.Path.Value)
	if child.Path.Kind == ir.PathRegex {
		text := strings.TrimPrefix(child.Path.Value, "^")
		if !strings.HasPrefix(text, prefix) && !strings.HasPrefix(text, regexp.QuoteMeta(prefix)) {
			return child, "the regular expression " + child.Path.Value + " does not begin with the parent's path " + parent.Path.Value
		}
		child.Within = prefix
	} else if !scope.CoversPath(prefix, child.Path.Value) {
		return child, "path " + child.Path.Value + " is outside the parent's path " + parent.Path.Value
	}
	switch {
	case !containsAll(child.Headers, parent.Headers):
		return child, "it does not repeat the parent's header matches"
	case !containsAll(child.Query, parent.Query):
		return child, "it does not repeat the parent's query parameter matches"
	case parent.Method != "" && child.Method != parent.Method:
		return child, "its method is not the parent's, " + parent.Method
	}
	return child, ""
}

// containsAll reports whether each element of the list some is also in the list all.
func containsAll(all, some []ir.ValueMatch) bool {
	for _, m := range some {
		if !slices.Contains(all, m) {
			return false
		}
	}
	return true
}

// inherit combines the matches of parent and child (EP-10943, Matcher inheritance). The child's path is appended
// to the parent's. The result has the headers and query parameters of both matches. If both set the method, or a
// header or query parameter of the same name, the parent's value wins. If the paths cannot be joined, inherit
// returns the reason, and otherwise "".
func inherit(parent, child ir.Match) (ir.Match, string) {
	path, refused := joinPaths(parent.Path, child.Path)
	if refused != "" {
		return child, refused
	}
	match := ir.Match{Path: path, Within: parent.Within, Method: parent.Method}
	if child.Path.Kind == ir.PathRegex && parent.Path.Kind == ir.PathPrefix {
		match.Within = trimSlash(parent.Path.Value) // as in within: /a.* could also match /ab, which is not in /a
	}
	if match.Method == "" {
		match.Method = child.Method
	}
	match.Headers = union(parent.Headers, child.Headers)
	match.Query = union(parent.Query, child.Query)
	return match, ""
}

// union returns the matches of the lists a and b, sorted by name. If both lists have a match for a name, the match
// of the list a wins.
func union(a, b []ir.ValueMatch) []ir.ValueMatch {
	return firstOfName(slices.Concat(a, b))
}

// joinPaths appends the child's path to the parent's. If the child's path is "/" and not a regular expression, the
// text of the parent's path stays as it is (see bare). joinPaths returns a reason if the paths cannot be joined, and
// "" if they can.
func joinPaths(parent, child ir.Path) (ir.Path, string) {
	base := trimSlash(parent.Value)
	switch {
	case child.Kind != ir.PathRegex && child.Value == "/":
		return bare(parent, child), ""
	case parent.Kind == ir.PathExact:
		return child, "the parent's path is of type Exact: nothing but / can be joined to it"
	case parent.Kind == ir.PathRegex:
		return ir.Path{Kind: ir.PathRegex, Value: group(parent.Value) + asRegex(child)}, ""
	case child.Kind == ir.PathRegex && base == "":
		return child, ""
	case child.Kind == ir.PathRegex:
		return ir.Path{Kind: ir.PathRegex, Value: regexp.QuoteMeta(base) + group(child.Value)}, ""
	}
	return ir.Path{Kind: child.Kind, Value: base + child.Value}, ""
}

// bare returns the joined path for a child whose path is "/". The result is the parent's path, with one exception:
// if the child's path has the type Exact and the parent's path is a prefix, the result has the type Exact.
func bare(parent, child ir.Path) ir.Path {
	if child.Kind == ir.PathExact && parent.Kind == ir.PathPrefix {
		parent.Kind = ir.PathExact
	}
	return parent
}

// group returns a regular expression as a non-capturing group. It removes "^" at the beginning, and an unescaped "$"
// at the end, because the whole path is compared anyway.
func group(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "^")
	if body, anchored := strings.CutSuffix(pattern, "$"); anchored && !escapes(body) {
		pattern = body
	}
	return "(?:" + pattern + ")"
}

// escapes reports whether the text ends in a backslash that is not itself escaped.
func escapes(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// asRegex returns a path match as a regular expression.
func asRegex(path ir.Path) string {
	switch path.Kind {
	case ir.PathRegex:
		return group(path.Value)
	case ir.PathExact:
		return regexp.QuoteMeta(path.Value)
	}
	return regexp.QuoteMeta(path.Value) + "(?:/.*)?"
}

// include joins the matches of parent and child (GEP-1058, RouteMatches). The result has the joined path (see
// includePaths) and all other conditions of both matches. If conditions contradict each other, or the paths cannot be
// joined, include returns the reason; if not, it returns "".
func include(parent, child ir.Match) (ir.Match, string) {
	path, refused := includePaths(parent.Path, child.Path)
	switch {
	case refused != "":
		return child, refused
	case parent.Method != "" && child.Method != "" && parent.Method != child.Method:
		return child, "its method " + child.Method + " contradicts the parent's " + parent.Method
	case contradicts(parent.Headers, child.Headers):
		return child, "a header match contradicts the parent's"
	case contradicts(parent.Query, child.Query):
		return child, "a query parameter match contradicts the parent's"
	}
	match, _ := inherit(ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}, Method: parent.Method,
		Headers: parent.Headers, Query: parent.Query, Within: parent.Within}, child)
	match.Path = path
	return match, ""
}

// includePaths joins the paths of parent and child (GEP-1058, Path Matching, option 2). The first of these cases that
// fits decides:
//   - The parent's path is a prefix and the child's a postfix: the result is a regular expression for the prefix, any
//     text between, and the postfix.
//   - One of the two paths is the prefix "/": the result is the other path, of any kind.
//   - Both paths are prefixes: the result is one prefix.
//
// In all other cases includePaths returns a reason; in these three the reason is "".
func includePaths(parent, child ir.Path) (ir.Path, string) {
	base := trimSlash(parent.Value)
	none := ir.Path{Kind: ir.PathPrefix, Value: "/"}
	switch {
	case child.Kind == ir.PathPostfix && parent.Kind == ir.PathPrefix:
		return ir.Path{Kind: ir.PathRegex, Value: regexp.QuoteMeta(base) + between(child.Value) + regexp.QuoteMeta(child.Value)}, ""
	case child == none:
		return parent, ""
	case parent == none:
		return child, ""
	case child.Kind == ir.PathPrefix && parent.Kind == ir.PathPrefix:
		return ir.Path{Kind: ir.PathPrefix, Value: base + child.Value}, ""
	}
	return child, "only a PathPrefix or PathPostfix can be joined to a parent's path, which must be a PathPrefix"
}

// between returns a regular expression for the text between a prefix and a postfix. In the path, a slash must
// follow the prefix, so that the prefix has only whole segments: /store and .html do not match /storefront.html.
func between(postfix string) string {
	if strings.HasPrefix(postfix, "/") {
		return "(?:/.*)?"
	}
	return "/.*"
}

// contradicts reports whether the lists a and b have different conditions for a header or query parameter of the same
// name.
func contradicts(a, b []ir.ValueMatch) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Name == y.Name && x != y {
				return true
			}
		}
	}
	return false
}
