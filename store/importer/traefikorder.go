package importer

import (
	"reflect"
	"slices"
)

// entry is one condition of a router on one host, with the route matches that the condition becomes.
type entry struct {
	*router
	condition condition
	matches   []routeMatch
	rewrite   map[string]any // of the path, nil for none
	site      site
}

// entries returns the conditions that apply to a host, in Traefik's order. They include the conditions for
// every host. If ordered is true, the matches are regular expressions where possible, so that the order of the
// rules decides. If ordered is false, the result also has the entries that refined adds.
func (l *listener) entries(host string, ordered bool) []entry {
	var all []entry
	for _, r := range l.routers {
		for _, c := range r.conditions {
			if !c.covers(host) {
				continue
			}
			all = append(all, l.entry(host, r, c, ordered))
		}
	}
	if !ordered {
		all = l.refined(host, all)
	}
	return all
}

// entry returns the entry for one condition of a router.
func (l *listener) entry(host string, r *router, c condition, ordered bool) entry {
	rewrite, _ := r.rewrite(c)
	matches := c.matches(ordered && (rewrite == nil || rewrite["replacePrefixMatch"] == nil))
	return entry{router: r, condition: c, matches: matches, rewrite: rewrite, site: l.at(host)}
}

// common returns the condition that a request meets if it matches both entries. both.wide is true if requests
// that do not match both entries meet the condition, too. ok is false if no request matches both.
func common(a, b entry) (both condition, ok bool) {
	mine, other := a.condition, b.condition
	mine.wide, other.wide = false, false // a wide entry answers 500 to all requests that it matches
	return mine.and(other)
}

// kept reports whether an entry in the parameter all keeps from b the requests that meet both a and b. That
// entry has exactly the common condition of a and b, and Envoy does not prefer b to that entry. It belongs to
// the router of a, or to a third router whose priority is higher than that of a.
func kept(a, b entry, all []entry) bool {
	both, ok := common(a, b)
	return ok && slices.ContainsFunc(all, func(e entry) bool {
		return (e.router == a.router || e.router != b.router && e.priority > a.priority) && reflect.DeepEqual(e.condition, both) && !turned(e, b)
	})
}

// maxRefined bounds the number of entries that refined returns for a host.
const maxRefined = 200

// refined returns the entries of a host (the parameter all) with more entries added. Envoy prefers the more
// specific match. So if two routers match a request, Envoy may choose the router with the lower priority. For
// such requests, refined adds an entry of the router with the higher priority, unless a route cannot express
// that entry. It stops adding as soon as there are maxRefined entries.
func (l *listener) refined(host string, all []entry) []entry {
	for i := 0; i < len(all); i++ {
		for j := len(all) - 1; j > i && len(all) < maxRefined; j-- {
			a, b := all[i], all[j]
			if a.router == b.router || a.priority <= b.priority || !turned(a, b) {
				continue
			}
			both, ok := common(a, b)
			if ok && !kept(a, b, all) && (!both.wide || a.closed != "") {
				all = slices.Insert(all, i+1, l.entry(host, a.router, both, false))
				j++ // the insertion moved b to the next index
			}
		}
	}
	return all
}

// conflict is a pair of routers that the Gateway API tries in another order than Traefik. The first has the
// higher priority, or both have the same.
type conflict struct{ first, second *router }

// conflicts returns the conflicts between the routers of a host. ordered has the same effect as for entries.
func (l *listener) conflicts(host string, ordered bool) []conflict {
	var all []conflict
	entries := l.entries(host, ordered)
	for _, a := range entries {
		for _, b := range entries {
			pair := conflict{a.router, b.router}
			if a.router == b.router || a.priority < b.priority || slices.Contains(all, pair) {
				continue
			}
			if turned(a, b) && !kept(a, b, entries) {
				all = append(all, pair)
			}
		}
	}
	return all
}

// turned reports whether one request may meet a match of a and a match of b, and Envoy prefers the match of b.
func turned(a, b entry) bool {
	return slices.ContainsFunc(a.matches, func(m routeMatch) bool {
		return slices.ContainsFunc(b.matches, func(o routeMatch) bool { return m.overlaps(o) && o.before(m) })
	})
}

// ordered reports whether there are fewer conflicts for a host if all its matches are regular expressions.
func (l *listener) ordered(host string) bool {
	plain := len(l.conflicts(host, false))
	return plain > 0 && len(l.conflicts(host, true)) < plain
}
