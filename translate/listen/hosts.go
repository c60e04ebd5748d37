package listen

import "slices"

// Narrow intersects host names; nil stands for every host. The result is not
// nil: a child that has no host in common serves nowhere.
func Narrow(hosts, own []string) []string {
	if hosts == nil {
		return own
	}
	out := []string{}
	for _, host := range hosts {
		out = append(out, intersect(host, own)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Within gives the places of a route that are left for a part of its hosts; nil
// is all of them. A host that another listener of the port owns is not among
// them (listener isolation).
func (g *Gateway) Within(places []Place, hosts []string) []Place {
	if hosts == nil {
		return places
	}
	var out []Place
	for _, p := range places {
		for _, domain := range intersect(hostname(p.Domain), hosts) {
			if g.owner(p.Port, domain) == g.owner(p.Port, p.Domain) {
				out = append(out, Place{p.Port, domain})
			}
		}
	}
	return out
}

// hostname is the inverse of domain.
func hostname(domain string) string {
	if domain == "*" {
		return ""
	}
	return domain
}
