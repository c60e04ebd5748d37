package importer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
)

// and returns the condition that a request meets if it meets both c and d. The field wide of the result is true if
// c or d is wide, or if a route cannot require everything that c and d require: then the result admits more
// requests than c and d together. If ok is false, no request can meet both c and d.
func (c condition) and(d condition) (both condition, ok bool) {
	both = c
	both.wide = c.wide || d.wide
	switch {
	case len(c.hosts) == 0:
		both.hosts = d.hosts
	case len(d.hosts) > 0:
		both.hosts = nil
		for _, a := range c.hosts {
			for _, b := range d.hosts {
				if host, ok := scope.Intersect(a, b); ok {
					both.hosts = append(both.hosts, host)
				}
			}
		}
		if len(both.hosts) == 0 {
			return both, false
		}
	}
	switch {
	case d.method != "" && c.method != "" && d.method != c.method:
		return both, false
	case d.method != "":
		both.method = d.method
	}
	if !both.andPath(c, d) {
		return both, false
	}
	var headers, queries bool
	both.headers, headers = merge(c.headers, d.headers)
	both.queries, queries = merge(c.queries, d.queries)
	both.wide = both.wide || !headers || !queries
	return both, true
}

// andPath sets the path of c to the path that the conditions a and b both require. It returns false if no path
// meets both. A route cannot require a regular expression and another path at once. Then c gets only one of the
// two paths, if possible the one that is not a regular expression, and andPath sets c.wide: c admits more
// requests than a and b together.
func (c *condition) andPath(a, b condition) bool {
	if a.kind > b.kind {
		a, b = b, a
	}
	c.kind, c.path = a.kind, a.path
	switch {
	case a.kind == anyPath:
		c.kind, c.path = b.kind, b.path
	case a.kind == b.kind && a.path == b.path:
	case b.kind == regexPath:
		c.wide = true
	case a.kind == exactPath && b.kind == textPrefix:
		return strings.HasPrefix(a.path, b.path)
	case a.kind == textPrefix && strings.HasPrefix(b.path, a.path):
		c.path = b.path
	case a.kind == textPrefix:
		return strings.HasPrefix(a.path, b.path)
	default:
		return false
	}
	return true
}

// merge returns the header or query requirements of a, followed by those of b that are not in a. whole is false
// if a requirement of b is left out, because a requires another value for the same name, or because there are
// maxRules already.
func merge(a, b []pair) (all []pair, whole bool) {
	all, whole = slices.Clone(a), true
	for _, p := range b {
		i := slices.IndexFunc(all, func(other pair) bool { return other.name == p.name })
		switch {
		case i < 0 && len(all) < maxRules:
			all = append(all, p)
		case i < 0 || all[i] != p:
			whole = false
		}
	}
	return all, whole
}

// names returns the hostnames of a condition. For a condition without hostnames, which applies to every host,
// the result is the one name "".
func (c condition) names() []string {
	if len(c.hosts) == 0 {
		return []string{""}
	}
	return c.hosts
}

// covers reports whether one of the condition's hostnames covers a host (scope.CoversHost). A condition
// without hostnames covers every host.
func (c condition) covers(host string) bool {
	return len(c.hosts) == 0 || slices.ContainsFunc(c.hosts, func(pattern string) bool { return scope.CoversHost(pattern, host) })
}

// empty reports whether the condition requires nothing, so that every request meets the condition.
func (c condition) empty() bool {
	return len(c.hosts) == 0 && c.kind == anyPath && c.method == "" && len(c.headers) == 0 && len(c.queries) == 0
}

// routeMatch is a match of an HTTPRoute rule, made from a condition.
type routeMatch struct {
	condition
	kind, value string // the fields path.type and path.value of the HTTPRouteMatch
	text        string // all paths that match begin with this text
	tail        tail   // says how these paths may go on after text
}

// tail says which texts may follow routeMatch.text in the path of a matching request.
type tail int

const (
	nothing  tail = iota
	anything      // any text; also for a condition of the kind regexPath, with routeMatch.text ""
	segment       // nothing, or a text that begins with /
	letters       // at least one byte, and the first one is not /
)

// matches returns the matches of an HTTPRoute rule for the condition, as alternatives. If ordered is true, all
// of them are regular expressions: these have the same precedence, so that the order of the rules decides.
func (c condition) matches(ordered bool) []routeMatch {
	one := func(kind, value, text string, t tail) routeMatch {
		return routeMatch{condition: c, kind: kind, value: value, text: text, tail: t}
	}
	quoted := regexp.QuoteMeta(c.path)
	switch {
	case c.kind == regexPath:
		return []routeMatch{one("RegularExpression", found(c.path), "", anything)}
	case ordered && c.kind == exactPath:
		return []routeMatch{one("RegularExpression", quoted, c.path, nothing)}
	case c.kind == exactPath:
		return []routeMatch{one("Exact", c.path, c.path, nothing)}
	case ordered && c.kind == anyPath:
		return []routeMatch{one("RegularExpression", "/.*", "/", anything)}
	case c.kind == anyPath:
		return []routeMatch{one("PathPrefix", "/", "/", anything)}
	case ordered || strings.HasSuffix(c.path, "/"):
		return []routeMatch{one("RegularExpression", quoted+".*", c.path, anything)}
	}
	return []routeMatch{one("PathPrefix", c.path, c.path, segment), one("RegularExpression", quoted+"[^/].*", c.path, letters)}
}

// fields returns the match as a map with the fields of an HTTPRouteMatch.
func (m routeMatch) fields() map[string]any {
	match := pathMatch(m.kind, m.value)
	if m.method != "" {
		match["method"] = m.method
	}
	write := func(key string, pairs []pair) {
		var all []any
		for _, p := range pairs {
			kind := "Exact"
			if p.regex {
				kind = "RegularExpression"
			}
			all = append(all, map[string]any{"type": kind, "name": p.name, "value": p.value})
		}
		if len(all) > 0 {
			match[key] = all
		}
	}
	write("headers", m.headers)
	write("queryParams", m.queries)
	return match
}

// overlaps reports whether one request may meet both m and o. It compares the path, method, headers and query
// parameters, but not the hosts.
func (m routeMatch) overlaps(o routeMatch) bool {
	if m.method != "" && o.method != "" && m.method != o.method || disjoint(m.headers, o.headers) || disjoint(m.queries, o.queries) {
		return false
	}
	short, long := m, o
	if len(short.text) > len(long.text) {
		short, long = long, short
	}
	rest, ok := strings.CutPrefix(long.text, short.text)
	switch {
	case !ok:
		return false
	case rest == "":
		return short.tail == anything || long.tail == anything || short.tail == long.tail || short.tail+long.tail == nothing+segment
	case short.tail == nothing:
		return false
	case short.tail == segment:
		return rest[0] == '/'
	case short.tail == letters:
		return rest[0] != '/'
	}
	return true
}

// disjoint reports whether no request can meet both lists of headers or query parameters, because they require
// different exact values for the same name.
func disjoint(a, b []pair) bool {
	return slices.ContainsFunc(a, func(p pair) bool {
		return slices.ContainsFunc(b, func(q pair) bool { return p.name == q.name && p.value != q.value && !p.regex && !q.regex })
	})
}

// before reports whether gatefold prefers the match m to the match o, whatever the order of their rules is. It
// returns false if neither is preferred.
func (m routeMatch) before(o routeMatch) bool {
	rank := map[string]int{"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}
	length := func(m routeMatch) int {
		if m.kind == "RegularExpression" {
			return 0
		}
		return len(m.value)
	}
	method := func(m routeMatch) int { return min(len(m.method), 1) }
	for _, by := range [][2]int{
		{-rank[m.kind], -rank[o.kind]}, {length(m), length(o)}, {method(m), method(o)},
		{len(m.headers), len(o.headers)}, {len(m.queries), len(o.queries)},
	} {
		if by[0] != by[1] {
			return by[0] > by[1]
		}
	}
	return false
}
