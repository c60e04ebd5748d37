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

// entry returns the entry for one condition of the router r on a host: the parameter c, with the HTTPRoute matches
// that express c. If ordered is true, the matches are regular expressions, so that the order of the rules decides
// (see entries). A path rewrite with replacePrefixMatch does not allow regular expressions; the matches then are
// plain.
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

// kept is about the requests that match both a and b. Traefik sends them to the router of a, but Envoy may prefer b.
// kept reports whether another entry of the host (the parameter all) gets these requests, so that Envoy does not
// choose b. Such an entry has all of these properties:
//   - It belongs to the router of a, or to a third router whose priority is higher than the priority of a.
//   - Its condition is the common condition of a and b (see common).
//   - Envoy does not prefer b to this entry (see turned).
func kept(a, b entry, all []entry) bool {
	both, ok := common(a, b)
	return ok && slices.ContainsFunc(all, func(e entry) bool {
		return (e.router == a.router || e.router != b.router && e.priority > a.priority) && reflect.DeepEqual(e.condition, both) && !turned(e, b)
	})
}

// maxRefined is the number of entries of one host at which the function refined stops adding entries.
const maxRefined = 200

// refined returns the entries of a host (the parameter all) with more entries added. Envoy prefers the more specific
// match. So if two routers match a request, Envoy may choose the router with the lower priority. For the requests
// that both routers match, refined adds an entry of the router with the higher priority.
//
// An HTTPRoute cannot always express exactly these requests. The new entry then is wide: it also matches other
// requests (condition.wide). refined adds a wide entry only if the entry's router answers 500 to all requests
// (part.closed). So a wide entry never sends a request to a wrong backend. refined stops adding at maxRefined
// entries.
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

// turned reports whether Envoy prefers b to a for some requests: a match of a and a match of b overlap, and Envoy
// tries the match of b first. The callers pass as a the entry that comes first in Traefik's order.
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
