package importer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// joinCanaries sets ingressPath.canary. A canary is a path of an Ingress with the annotation canary. It gets a
// part of the requests for the same path and host of another Ingress in the same namespace. joinCanaries leaves
// out a canary if there is no such path, if that path has a canary already, or if the canary would answer 500.
func joinCanaries(r *report, hosts ingressHosts, canaries []*ingressPath) {
	for _, canary := range canaries {
		joined := false
		for _, p := range hosts.get(canary.host).paths {
			if p.path == canary.path && p.canary == nil && p.ingress.key.Namespace == canary.ingress.key.Namespace && canary.closed+canary.settings.closed == "" {
				p.canary, joined = canary, true
			}
		}
		if !joined {
			canary.left = "left out: no other Ingress has the path, or it has a canary already"
			r.add(Different, canary.ingress.place, canary.ingress.name(), canary.left, canary.field)
		}
	}
}

// split returns the HTTPRoute rules that send the requests for l, a path of a host, to backends. Every rule gets
// the given filters. Without a canary, split returns one rule. With a canary, the last rule splits requests by
// weight. The rules before the last one match a header or cookie that selects the canary or the main backend. On a
// host with regular expressions (l.ordered), such rules cannot be expressed: split then returns only the last rule.
func (w *routeWriter) split(l *location, filters []any) []any {
	rule := func(matches []any, backends ...any) map[string]any {
		r := map[string]any{"matches": matches, "backendRefs": backends}
		if len(filters) > 0 {
			r["filters"] = filters
		}
		return r
	}
	main := w.backend(l.ingressPath)
	if l.canary == nil {
		return []any{rule(l.matches, main)}
	}
	canary, c := w.backend(l.canary), l.canary.settings
	var rules []any
	if !l.ordered {
		for _, header := range canaryHeaders(c) {
			to := main
			if header.canary {
				to = canary
			}
			rules = append(rules, rule(withHeader(l.matches, header.match), to))
		}
	} else if c.header+c.cookie != "" {
		w.add(Different, l.canary.ingress.place, l.canary.ingress.name(), "the header and the cookie have no effect: the host has regular expressions", l.canary.field)
	}
	weight := min(c.weight, c.total)
	weighted := func(ref map[string]any, weight int64) map[string]any {
		ref = maps.Clone(ref)
		ref["weight"] = weight
		return ref
	}
	return append(rules, rule(l.matches, weighted(main, c.total-weight), weighted(canary, weight)))
}

// canaryHeader is a header match and the backend of the requests that match. If canary is true, they go to the
// canary, otherwise to the main backend.
type canaryHeader struct {
	match  map[string]any
	canary bool
}

// canaryHeaders returns the header matches that select the canary or the main backend. They are in the order of
// ingress-nginx: the header first, then the cookie.
func canaryHeaders(c *settings) []canaryHeader {
	header := func(kind, name, value string) map[string]any {
		return map[string]any{"type": kind, "name": name, "value": value}
	}
	var all []canaryHeader
	switch {
	case c.header != "" && c.headerValue != "":
		all = append(all, canaryHeader{header("Exact", c.header, c.headerValue), true})
	case c.header != "" && c.headerRegexp != "":
		all = append(all, canaryHeader{header("RegularExpression", c.header, ".*("+c.headerRegexp+").*"), true})
	case c.header != "":
		all = append(all, canaryHeader{header("Exact", c.header, "always"), true}, canaryHeader{header("Exact", c.header, "never"), false})
	}
	if c.cookie != "" {
		for value, canary := range map[string]bool{"always": true, "never": false} {
			pattern := `(.*;\s*)?` + regexp.QuoteMeta(c.cookie) + "=" + value + `(\s*;.*)?`
			all = append(all, canaryHeader{header("RegularExpression", "Cookie", pattern), canary})
		}
		slices.SortStableFunc(all, func(a, b canaryHeader) int {
			if text(a.match["name"]) == text(b.match["name"]) {
				return strings.Compare(text(a.match["value"]), text(b.match["value"]))
			}
			return 0
		})
	}
	return all
}

// withHeader returns copies of route matches. Each copy also requires the header match in the parameter header.
func withHeader(matches []any, header map[string]any) []any {
	var all []any
	for _, match := range matches {
		with := maps.Clone(match.(map[string]any))
		with["headers"] = []any{header}
		all = append(all, with)
	}
	return all
}
