package explain

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// maxOutlined bounds how many routes' documents are read for one query.
	maxOutlined = 1000
	// maxPattern is the length in bytes of the longest regular expression that is compiled from a rule that may be
	// invalid. The Gateway API allows 1024.
	maxPattern = 1024
	// maxCompiled bounds how many regular expressions of rules that may be invalid are compiled for one query. For
	// further expressions, only the text before their first special character is compared.
	maxCompiled = 2000
	// maxSuffixes bounds how many suffixes of a path fitBelow compares.
	maxSuffixes = 64
)

// overlaps finds the routes that might match the request by host and path, also routes that are not served
// because they are invalid. It reads them from their documents (see outline).
type overlaps struct {
	path, host, gateway string
	// routes are the routes with rules in the request's virtual host.
	routes   map[manifest.Key]bool
	outlines map[manifest.Key]outline
	fits     map[matchAt]int
	// compiled counts the regular expressions that were compiled.
	compiled int
	// compared is the cost of these regular expressions so far: for each, the length of the path times the length
	// of the expression.
	compared int
}

// matchAt names a match of a rule of a route. An index of -1 means any rule or any match.
type matchAt struct {
	route       manifest.Key
	rule, match int
}

// outline is a store.Outline with methods. It has what could be read from the document of a route.
type outline store.Outline

// only returns the outline reduced to one rule and one match of that rule. The parameters are indexes. If rule is
// -1 or does not exist, the result has all rules with all matches. If match is -1 or does not exist, the result
// has all matches of the rule.
func (o outline) only(rule, match int) outline {
	if rule < 0 || rule >= len(o.Rules) {
		return o
	}
	one := o.Rules[rule]
	if match >= 0 && match < len(one.Paths) {
		one.Paths = one.Paths[match : match+1]
	}
	o.Rules = []store.RuleOutline{one}
	return o
}

// mayBeDelegated reports whether another route may delegate to this route: it has no parent, or one of its
// parents is an HTTPRoute. Its paths may then be relative to the path of the other route.
func (o outline) mayBeDelegated() bool {
	return len(o.Parents) == 0 || slices.ContainsFunc(o.Parents, func(parent manifest.Key) bool { return parent.Kind == "HTTPRoute" })
}

// read adds the outlines of the given routes to o.outlines. It skips routes that are already there, and stops when
// o.outlines has maxOutlined entries. The parameter outlines is the function that reads the documents of routes.
// If it is nil, read adds empty outlines.
func (o *overlaps) read(keys []manifest.Key, outlines func([]manifest.Key) []store.Outline) {
	var unknown []manifest.Key
	for _, key := range keys {
		if _, known := o.outlines[key]; !known && len(o.outlines) < maxOutlined {
			unknown = append(unknown, key)
			o.outlines[key] = outline{}
		}
	}
	if outlines == nil || len(unknown) == 0 {
		return
	}
	for i, found := range outlines(unknown) {
		o.outlines[unknown[i]] = outline(found)
	}
}

// underHost reports whether a route may serve the request's host. The first of these rules that applies decides:
//
//   - A route with rules in the request's virtual host may serve the host.
//   - A route whose document cannot be read may not.
//   - A route with hostnames may if one of them covers the host.
//   - A route without parents may.
//   - Any other route may if one of its parents has rules in the virtual host, is a ListenerSet, or is the
//     request's Gateway. If the Gateway is not known, every parent counts.
func (o *overlaps) underHost(key manifest.Key) bool {
	outline := o.outlines[key]
	switch {
	case o.routes[key]:
		return true
	case !outline.Found:
		return false
	case len(outline.Hosts) > 0:
		return o.namesRoute(key)
	case len(outline.Parents) == 0:
		return true
	}
	return slices.ContainsFunc(outline.Parents, func(parent manifest.Key) bool {
		return o.routes[parent] || parent.Kind == "ListenerSet" || o.gateway == "" || parent == ir.GatewayKey(o.gateway)
	})
}

// namesRoute reports whether one of the route's hostnames covers the request's host.
func (o *overlaps) namesRoute(key manifest.Key) bool {
	return slices.ContainsFunc(o.outlines[key].Hosts, func(pattern string) bool { return scope.CoversHost(pattern, o.host) })
}

// fit returns how well a match of a rule fits the request's path: more if it covers more of the path (see
// fitPath), 0 if it does not match. The parameters rule and match are indexes. If rule is -1, the result is the
// best of all rules. If match is -1, it is the best of all matches of the rule.
func (o *overlaps) fit(key manifest.Key, rule, match int) int {
	at := matchAt{key, rule, match}
	n, known := o.fits[at]
	if !known {
		n = o.compare(o.outlines[key].only(rule, match))
		o.fits[at] = n
	}
	return n
}

// compare returns how well the best path of a route's outline fits the request's path: 0 if no path fits, and a
// higher number for a better fit (see fitPath). If the route may be a child route (see mayBeDelegated), its paths may
// be relative to a parent's path. Then compare also tests them with fitBelow. If the paths of a rule cannot be read,
// they might fit, so the result is at least 1.
func (o *overlaps) compare(outline outline) int {
	best := 0
	below := outline.mayBeDelegated()
	for _, rule := range outline.Rules {
		if len(rule.Paths) == 0 { // no path can be read, so any path may match
			best = max(best, 1)
		}
		for _, path := range rule.Paths {
			best = max(best, o.fitPath(path, o.path))
			if below {
				best = max(best, o.fitBelow(path, o.path))
			}
		}
	}
	return best
}

// fitPath returns how well an outlined path fits the parameter path: the number of characters of path that the
// outlined path covers, plus 1. An exact path gets one more. fitPath returns 0 if the outlined path does not match.
func (o *overlaps) fitPath(outline store.PathOutline, path string) int {
	switch outline.Type {
	case "Exact":
		if path == outline.Value {
			return len(path) + 2 // an exact path has precedence over a prefix of the same length
		}
		return 0
	case "RegularExpression":
		return o.fitPattern(outline.Value, path)
	}
	if scope.CoversPath(outline.Value, path) {
		return len(strings.TrimSuffix(outline.Value, "/")) + 1
	}
	return 0
}

// fitPattern returns how well a regular expression fits the path: the length of path plus 1 if the expression
// matches, and 0 if it does not match. It does not test an expression that is invalid, or that exceeds maxPattern,
// maxCompiled or maxEffort. In these cases the expression counts as a match if the path begins with the
// expression's literal beginning.
func (o *overlaps) fitPattern(pattern, path string) int {
	if !strings.HasPrefix(path, literalPrefix(pattern)) {
		return 0
	}
	if len(pattern) <= maxPattern && o.compiled < maxCompiled {
		o.compiled++
		if o.compared += len(path) * len(pattern); o.compared > maxEffort {
			return len(path) + 1
		}
		if expression, err := counted.Matcher(pattern, `^(?:`+pattern+`)$`); err == nil {
			if expression.MatchString(path) {
				return len(path) + 1
			}
			return 0
		}
	}
	return len(path) + 1 // the author may fix it so that it matches the whole path
}

// fitBelow returns how well the outlined path of a child route fits the end of a path (see fitPath): a child's path
// may be relative to its parent's path. The parent's path is not known, so fitBelow compares the outlined path with
// each suffix of the parameter path, at most maxSuffixes. It returns 0 if no suffix fits, or if the outlined path
// is the prefix "/".
func (o *overlaps) fitBelow(outline store.PathOutline, path string) int {
	best := 0
	for range maxSuffixes {
		i := strings.IndexByte(path[min(1, len(path)):], '/')
		if i < 0 {
			return best
		}
		path = path[i+1:]
		if n := o.fitPath(outline, path); n > 1 {
			best = max(best, n)
		}
	}
	return best
}
