package listen

import (
	"slices"
	"strings"
)

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

// Spans tells whether host names leave all of the places: they narrow nothing.
func Spans(own []string, places []Place) bool {
	return !slices.ContainsFunc(places, func(p Place) bool {
		return !slices.ContainsFunc(own, func(host string) bool { return covers(host, hostname(p.Domain)) })
	})
}

// Within gives the places of a route of which some hosts are left, and the
// narrower places that are left; nil is all hosts. A host that another listener
// of the port owns is not among them (listener isolation).
func (g *Gateway) Within(places []Place, hosts []string) (held, narrower []Place) {
	if hosts == nil {
		return places, nil
	}
	for _, p := range places {
		for _, domain := range intersect(hostname(p.Domain), hosts) {
			switch {
			case domain == p.Domain:
				held = append(held, p)
			case g.owner(p.socket(), domain) == g.owner(p.socket(), p.Domain):
				held = append(held, p)
				// A wildcard between them may be claimed by another route as well.
				for name := domain; name != p.Domain; {
					narrower = append(narrower, Place{Port: p.Port, Chain: p.Chain, Domain: name})
					_, rest, ok := strings.Cut(strings.TrimPrefix(name, "*."), ".")
					if !ok {
						break
					}
					name = "*." + rest
				}
			}
		}
	}
	return held, narrower
}

func (p Place) socket() Socket { return Socket{p.Port, p.UDP} }

// hostname is the inverse of domain.
func hostname(domain string) string {
	if domain == "*" {
		return ""
	}
	return domain
}
