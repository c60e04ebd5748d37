package importer

import (
	"reflect"
	"slices"
)

// entry is one condition of a router's rule on one host, with the HTTPRoute matches that express the condition.
type entry struct {
	*router
	condition condition
	matches   []routeMatch
	rewrite   map[string]any // of the path, nil for none
	site      site
}

// entries returns the conditions of all routers that apply to a host, in Traefik's order, with their HTTPRoute
// matches. If ordered is true, the matches are regular expressions where possible, so that the order of the rules
// decides. If ordered is false, Envoy prefers the more specific match. Where Envoy would then choose the wrong
// router, refined adds entries.
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

// entry returns the condition c of the router r on a host, with its HTTPRoute matches. If ordered is true, the
// matches are regular expressions where the path rewrite of the router allows that.
func (l *listener) entry(host string, r *router, c condition, ordered bool) entry {
	rewrite, _ := r.rewrite(c)
	matches := c.matches(ordered && (rewrite == nil || rewrite["replacePrefixMatch"] == nil))
	return entry{router: r, condition: c, matches: matches, rewrite: rewrite, site: l.at(host)}
}

// common returns a condition for the requests that meet both the condition of a and the condition of b. If the field
// wide of the returned condition is true, other requests can meet the returned condition, too. If ok is false, no
// request can meet the conditions of both a and b.
func common(a, b entry) (both condition, ok bool) {
	mine, other := a.condition, b.condition
	mine.wide, other.wide = false, false // a wide entry answers 500 to all requests that it matches
	return mine.and(other)
}

// kept reports whether one of the host's entries (the parameter all) takes the requests that match both a and b, so
// that Envoy does not choose b for these requests. An entry takes the requests if all of this is true:
//   - The entry belongs to the router of a, or to a third router whose priority is higher than the priority of a.
//   - The entry's condition is the common condition of a and b (see common).
//   - Envoy does not prefer b to the entry (see turned).
func kept(a, b entry, all []entry) bool {
	both, ok := common(a, b)
	return ok && slices.ContainsFunc(all, func(e entry) bool {
		return (e.router == a.router || e.router != b.router && e.priority > a.priority) && reflect.DeepEqual(e.condition, both) && !turned(e, b)
	})
}

// maxRefined bounds the entries of a host: once a host has this many, refined adds no more.
const maxRefined = 200

// refined returns the entries of a host (the parameter all) with more entries added. Envoy prefers the more specific
// match. So if two routers match a request, Envoy may choose the router with the lower priority. For the requests
// that both routers match, refined adds an entry of the router with the higher priority. An HTTPRoute cannot always
// express exactly these requests; the new entry then also matches other requests (condition.wide). Such an entry is
// added only if its router answers 500. refined stops adding as soon as there are maxRefined entries.
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

// conflict is a pair of routers that match the same requests. The priority of the router in the field first is
// higher, or at least not lower, so Traefik prefers that router. For some of the requests, Envoy prefers the router
// in the field second.
type conflict struct{ first, second *router }

// conflicts returns the pairs of routers for which Envoy would choose another router than Traefik does for some
// requests to a host. The parameter ordered is true if the matches are regular expressions (see entries).
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

// ordered reports whether all matches of a host should be regular expressions, because the host then has fewer
// conflicts between routers (see conflicts).
func (l *listener) ordered(host string) bool {
	plain := len(l.conflicts(host, false))
	return plain > 0 && len(l.conflicts(host, true)) < plain
}
