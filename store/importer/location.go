package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// location is a path of an Ingress host, with the matches and the path rewrite of its rule in the HTTPRoute.
type location struct {
	*ingressPath
	matches []any
	rewrite map[string]any
	// ordered is true if the order of the rules decides which of them gets a request: the host's paths that are
	// not Exact became regular expressions, and these have the same precedence.
	ordered bool
}

// locations returns the paths of a host with their matches, and the redirects of appRoots. If the position of a
// rule decides (see location.ordered), they are in the order of nginx. If a path cannot be expressed, it sets
// h.closed.
func (h *ingressHost) locations() []*location {
	all := make([]*location, len(h.paths))
	for i, p := range h.paths {
		all[i] = &location{ingressPath: p}
	}
	slices.SortStableFunc(all, func(a, b *location) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), strings.Compare(b.path, a.path))
	})
	captures := slices.ContainsFunc(all, func(l *location) bool { return strings.Contains(l.settings.rewrite, "$") })
	switch {
	case captures:
		h.prefixes(all)
	case h.regex:
		h.expressions(all)
	default:
		h.plain(all)
	}
	h.appRoots(&all)
	if h.closed == "" && slices.ContainsFunc(all, func(l *location) bool { return l.ordered }) {
		for _, l := range all {
			if l.ingress.key.Namespace != all[0].ingress.key.Namespace {
				h.closed = "regular expressions in Ingresses of several namespaces have no order"
			}
		}
	}
	return all
}

// expressions sets the matches of a host that has a regular expression as path. nginx then treats all paths of
// the host as regular expressions that are anchored only at the beginning. If import cannot express a path or
// its rewrite, it sets h.closed.
func (h *ingressHost) expressions(all []*location) {
	for _, l := range all {
		if _, err := regexp.Compile(l.path); err != nil || alternatives(l.path) {
			h.closed = "a regular expression that RE2 does not have, or with alternatives that are not in brackets"
			return
		}
		l.ordered = true
		l.matches = []any{pathMatch("RegularExpression", "(?i)(?:"+l.path+").*")}
		if target := l.settings.rewrite; target != "" && target != l.path {
			l.rewrite = map[string]any{"type": "ReplaceFullPath", "replaceFullPath": target}
			if !literal.MatchString(target) {
				h.closed = "a rewrite-target that is no plain path"
			}
		}
	}
}

// alternatives reports whether a regular expression has alternatives at its top level, or is invalid. If text
// is added before or after such an expression, the text applies only to the first or the last alternative.
func alternatives(expression string) bool {
	const mark = "\ue000" // keeps the parser from joining alternatives with the same beginning
	parsed, err := syntax.Parse(mark+expression, syntax.Perl)
	return err != nil || parsed.Op == syntax.OpAlternate
}

// captured matches a path with a group for the rest of the path, such as /store(/|$)(.*). literal matches a
// path of letters, digits, "_" and "-".
var (
	captured = regexp.MustCompile(`^((?:/[A-Za-z0-9_-]+)*)(\(/\|\$\)\(\.[*]\)|/\(\.[*]\))$`)
	literal  = regexp.MustCompile(`^/[A-Za-z0-9/_-]*$`)
)

// prefixes sets the matches of a host on which a rewrite-target keeps a part of the path, such as $1. Only a
// PathPrefix match can have such a rewrite, and a PathPrefix is case-sensitive. It sets h.closed if paths of the
// host have different protection, or if a rewrite cannot be expressed.
func (h *ingressHost) prefixes(all []*location) {
	for _, l := range all {
		if guard(l) != guard(all[0]) {
			h.closed = "rewrite-target keeps a part of the path, and its paths are protected differently: case would decide"
			return
		}
		target := l.settings.rewrite
		group := "$1"
		if strings.Contains(l.path, "(/|$)") {
			group = "$2"
		}
		found := captured.FindStringSubmatch(l.path)
		into, keeps := strings.CutSuffix(target, group)
		switch {
		case found != nil && keeps && literal.MatchString(into):
			l.matches = []any{pathMatch("PathPrefix", prefixOf(found[1]))}
			l.rewrite = map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": prefixOf(into)}
		case target == "" && literal.MatchString(l.path) && l.path != "":
			l.matches = h.stringPrefix(l, all)
		default:
			h.closed = "a rewrite-target that keeps parts of the path which are no prefix"
			return
		}
	}
}

// guard returns a text for the protection of a location. It is equal for locations with the same protection.
func guard(l *location) string {
	s := l.settings
	return fmt.Sprint(cmp.Or(l.closed, s.closed), s.policy["acl"], s.policy["basicAuth"], s.redirect, s.forceRedirect, s.sslRedirect)
}

// prefixOf returns a path as the value of a PathPrefix: without a slash at its end.
func prefixOf(path string) string { return cmp.Or(strings.TrimRight(path, "/"), "/") }

// plain sets the matches of a host without regular expressions. If two paths that are not Exact differ only in
// the type or in a slash at the end, it sets h.closed. stringPrefix may also set it.
func (h *ingressHost) plain(all []*location) {
	ordered := slices.ContainsFunc(all, func(l *location) bool {
		return l.pathType == "ImplementationSpecific" && overlaps(l, all)
	})
	for _, l := range all {
		for _, other := range all {
			if l != other && l.pathType != "Exact" && other.pathType != "Exact" && prefixOf(l.path) == prefixOf(other.path) {
				h.closed = "the same path with two types"
			}
		}
		switch {
		case l.pathType == "Exact":
			l.matches = []any{pathMatch("Exact", l.path)}
		case ordered && l.pathType == "Prefix":
			l.matches = []any{pathMatch("RegularExpression", regexp.QuoteMeta(strings.TrimRight(l.path, "/"))+"(/.*)?")}
		case ordered:
			l.matches = []any{pathMatch("RegularExpression", regexp.QuoteMeta(l.path)+".*")}
		case l.pathType == "Prefix":
			l.matches = []any{pathMatch("PathPrefix", prefixOf(l.path))}
		default:
			l.matches = h.stringPrefix(l, all)
		}
		l.ordered = ordered
	}
}

// overlaps reports whether another path of the host, not of type Exact, continues the path of l within a
// segment, as /foobar continues /foo. For requests to the longer path nginx uses that path, but Envoy would use
// the regular expression for l.
func overlaps(l *location, all []*location) bool {
	return slices.ContainsFunc(all, func(other *location) bool {
		rest, ok := strings.CutPrefix(other.path, l.path)
		return ok && other.pathType != "Exact" && rest != "" && rest[0] != '/' && !strings.HasSuffix(l.path, "/")
	})
}

// stringPrefix returns the matches for a path of type ImplementationSpecific, as nginx compares it: /foo also
// matches /foobar. If another path begins with this path within a segment, it sets h.closed.
func (h *ingressHost) stringPrefix(l *location, all []*location) []any {
	matches := []any{pathMatch("PathPrefix", prefixOf(l.path))}
	if strings.HasSuffix(l.path, "/") {
		return matches
	}
	if overlaps(l, all) {
		h.closed = "paths of which one begins with the other within a segment"
	}
	return append(matches, pathMatch("RegularExpression", regexp.QuoteMeta(l.path)+"[^/].*"))
}

// appRoots adds the redirects of the path / that the annotation app-root configures. It adds none for a host or
// Ingress that answers 500, or if the host already has a path / of type Exact.
func (h *ingressHost) appRoots(all *[]*location) {
	for _, l := range slices.Clone(*all) {
		root := l.settings.appRoot
		exists := slices.ContainsFunc(*all, func(other *location) bool { return other.pathType == "Exact" && other.path == "/" })
		if root == "" || exists || l.settings.closed != "" || h.closed != "" {
			continue
		}
		s := *l.settings
		s.policy, s.redirect = nil, map[string]any{"statusCode": int64(302), "path": map[string]any{"type": "ReplaceFullPath", "replaceFullPath": root}}
		p := &ingressPath{ingress: l.ingress, settings: &s, host: l.host, path: "/", pathType: "Exact", field: l.field}
		*all = append([]*location{{ingressPath: p, matches: []any{pathMatch("Exact", "/")}, ordered: l.ordered}}, *all...)
	}
}
