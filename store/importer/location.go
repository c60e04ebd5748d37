package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/counted"
)

// location is a path of an Ingress on one host, with the matches and the path rewrite of the HTTPRoute rule for
// the path.
type location struct {
	*ingressPath
	matches []any
	rewrite map[string]any
	// ordered is true if the order of the rules decides which rule gets a request. That is so if the host's paths
	// become regular expressions, because all regular expressions have the same precedence. Paths of type Exact may
	// stay as they are.
	ordered bool
}

// locations returns the paths of a host with their route matches, and the redirects of the annotation app-root.
// If the order of the rules decides which rule gets a request (location.ordered), the paths are in the order of
// nginx. locations sets h.closed, so that the whole host answers 500, if a path cannot be expressed, or if the
// order decides and the paths are from Ingresses of several namespaces.
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

// expressions sets the route matches of a host whose paths nginx treats as regular expressions. nginx anchors
// these expressions only at the beginning, and ignores case. If import cannot express a path or a rewrite,
// expressions sets h.closed, so that the whole host answers 500.
func (h *ingressHost) expressions(all []*location) {
	for _, l := range all {
		if _, err := counted.ParseRegex(l.path); err != nil || alternatives(l.path) {
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

// alternatives reports whether a regular expression has alternatives at its top level, such as a|b, or is
// invalid. Text that is added before or after such an expression would apply only to its first or last
// alternative.
func alternatives(expression string) bool {
	const mark = "\ue000" // keeps the parser from joining alternatives with the same beginning
	parsed, err := counted.ParseRegex(mark + expression)
	return err != nil || parsed.Op == syntax.OpAlternate
}

// captured matches a path with a group for the rest of the path, such as /store(/|$)(.*). literal matches a
// path of letters, digits, "_", "-" and "/".
var (
	captured = regexp.MustCompile(`^((?:/[A-Za-z0-9_-]+)*)(\(/\|\$\)\(\.[*]\)|/\(\.[*]\))$`)
	literal  = regexp.MustCompile(`^/[A-Za-z0-9/_-]*$`)
)

// prefixes sets the route matches of all paths of a host. It is for a host that has an annotation rewrite-target
// with a group such as $1, which keeps a part of the path. Only a PathPrefix match can have such a rewrite, and
// unlike nginx, a PathPrefix is case-sensitive. If paths of the host have different protection, or a path or rewrite
// cannot be expressed, prefixes sets h.closed: the whole host answers 500.
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

// guard returns a text that describes the protection of a path. The text is only for comparisons: paths with
// the same protection have the same text.
func guard(l *location) string {
	s := l.settings
	return fmt.Sprint(cmp.Or(l.closed, s.closed), s.policy["acl"], s.policy["basicAuth"], s.redirect, s.forceRedirect, s.sslRedirect)
}

// prefixOf returns a path as the value of a PathPrefix: without slashes at its end, or "/" if nothing else is left.
func prefixOf(path string) string { return cmp.Or(strings.TrimRight(path, "/"), "/") }

// plain sets the route matches of a host if nginx compares none of its paths as regular expressions. A path of type
// Exact gets an Exact match. Any other path gets a PathPrefix match, or the matches of stringPrefix. But if a path
// of type ImplementationSpecific overlaps another path (see overlaps), all paths that are not Exact get a
// RegularExpression match.
//
// If two paths that are not Exact differ only in the pathType or in a slash at the end, plain sets h.closed: the
// whole host answers 500. The function stringPrefix may also set h.closed.
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
// segment, as /foobar continues /foo. nginx uses the longer path for /foobar, but Envoy would use the regular
// expression that stringPrefix returns for /foo.
func overlaps(l *location, all []*location) bool {
	return slices.ContainsFunc(all, func(other *location) bool {
		rest, ok := strings.CutPrefix(other.path, l.path)
		return ok && other.pathType != "Exact" && rest != "" && rest[0] != '/' && !strings.HasSuffix(l.path, "/")
	})
}

// stringPrefix returns the route matches for a path that nginx compares as text, such as one of type
// ImplementationSpecific: /foo also matches /foobar. If another path of the host continues this path within a
// segment (see overlaps), stringPrefix sets h.closed, so that the whole host answers 500.
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

// appRoots adds the redirects of the path / that the annotation app-root configures, in place of a path / of type
// Exact: nginx redirects before it looks for a location. It adds none for a host or Ingress that answers 500.
func (h *ingressHost) appRoots(all *[]*location) {
	for _, l := range slices.Clone(*all) {
		if l.settings.appRoot == "" || l.settings.closed != "" || h.closed != "" {
			continue
		}
		s := *l.settings
		s.policy, s.redirect = nil, map[string]any{"statusCode": int64(302), "path": map[string]any{"type": "ReplaceFullPath", "replaceFullPath": s.appRoot}}
		p := &ingressPath{ingress: l.ingress, settings: &s, host: l.host, path: "/", pathType: "Exact", field: l.field}
		var rest []*location
		for _, other := range *all {
			if other.pathType == "Exact" && other.path == "/" {
				other.unreached = "no request gets there: app-root of " + l.ingress.name() + " redirects /"
				continue
			}
			rest = append(rest, other)
		}
		*all = append([]*location{{ingressPath: p, matches: []any{pathMatch("Exact", "/")}, ordered: l.ordered}}, rest...)
		return
	}
}
