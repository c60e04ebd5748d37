package listen

import (
	"slices"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// Narrow returns the hosts that two sets have in common. Of each pair of names that match, the result has the
// narrower one: for example "a.example.com" of "a.example.com" and "*.example.com".
func Narrow(hosts, own ir.Hosts) ir.Hosts {
	if hosts.Every() {
		return own
	}
	var out []string
	for _, host := range hosts.Names() {
		out = append(out, intersect(host, own)...)
	}
	return ir.HostsOf(out...)
}

// Covers reports whether hosts contains all hosts of a domain. The domain is written as in Place.
func Covers(hosts ir.Hosts, domain string) bool {
	return hosts.Every() || slices.ContainsFunc(hosts.Names(), func(host string) bool { return scope.CoversHost(host, hostname(domain)) })
}

// Spans reports whether the parameter hosts contains every host of every place (see Place).
func Spans(hosts ir.Hosts, places []Place) bool {
	return !slices.ContainsFunc(places, func(p Place) bool { return !Covers(hosts, p.Domain) })
}

// Within returns the places (virtual hosts, see Place) for the rules of a delegated child. The parameter places has
// the places of the root route, and the parameter hosts has the hosts that the child serves.
//   - The result held has each place of the root that contains a host of the child, once for each such host.
//   - The result narrower has new places. A host of the child may be narrower than the place of the root: for
//     example, a.b.example.com in the place *.example.com. Then narrower has a Place for this host, and one for each
//     wildcard between: *.b.example.com.
//
// A host that another listener of the port serves is left out (listener isolation). If hosts contains every host,
// Within returns places and nil.
func (g *Gateway) Within(places []Place, hosts ir.Hosts) (held, narrower []Place) {
	if hosts.Every() {
		return places, nil
	}
	for _, p := range places {
		for _, domain := range intersect(hostname(p.Domain), hosts) {
			switch {
			case domain == p.Domain:
				held = append(held, p)
			case g.owner(p.Socket(), domain) == g.owner(p.Socket(), p.Domain):
				held = append(held, p)
				// Another route may also claim a wildcard between the host and p.Domain, so each gets a Place as well.
				for name := range scope.Patterns(domain) {
					if name == p.Domain {
						break
					}
					narrower = append(narrower, Place{Port: p.Port, Chain: p.Chain, Domain: name, Listener: p.Listener})
				}
			}
		}
	}
	return held, narrower
}

// Socket returns the port and protocol of the place.
func (p Place) Socket() Socket { return Socket{p.Port, p.UDP} }

// hostname returns the hostname of a listener for a Place.Domain: "" for "*". It is the inverse of the function
// domain.
func hostname(domain string) string {
	if domain == "*" {
		return ""
	}
	return domain
}
