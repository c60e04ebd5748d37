package listen

import (
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Contender is an HTTPRoute or GRPCRoute that competes for hosts of one listener. Domains are the hosts that it
// would serve there.
type Contender struct {
	Origin  *ir.Origin
	Domains []string // as Place.Domain
}

// Loss is a host that a route does not get on a listener, because a route of another kind (By) has it.
type Loss struct {
	By manifest.Key
	// Domain is the host that both routes claim. If the hostname of one route is a wildcard that covers the
	// hostname of the other, Domain is the narrower hostname.
	Domain string
}

// Contest returns the routes that one listener does not accept, by key, each with the host that the route lost. An
// HTTPRoute and a GRPCRoute must not have a host in common: the listener accepts only the first of the two routes
// (Gateway API, GRPCRouteSpec.hostnames). The parameter all has the routes of both kinds, in the conflict
// resolution order. A route that is not accepted does not exclude other routes.
func Contest(all []*Contender) map[manifest.Key]Loss {
	lost := map[manifest.Key]Loss{}
	taken := map[string]*holdings{} // by kind
	for _, c := range all {
		if loss, lose := beaten(c, taken); lose {
			lost[c.Origin.Key] = loss
			continue
		}
		own := taken[c.Origin.Key.Kind]
		if own == nil {
			own = newHoldings()
			taken[c.Origin.Key.Kind] = own
		}
		own.take(c)
	}
	return lost
}

// beaten returns the first host that the route c loses, because an accepted route of another kind has that host.
// The parameter taken has the hosts of the accepted routes, by kind. The result is false if c loses no host.
func beaten(c *Contender, taken map[string]*holdings) (Loss, bool) {
	for kind, other := range taken {
		if kind == c.Origin.Key.Kind {
			continue
		}
		for _, domain := range c.Domains {
			if loss, held := other.holder(domain); held {
				return loss, true
			}
		}
	}
	return Loss{}, false
}

// holdings are the hosts of all accepted routes of one kind.
type holdings struct {
	// at maps a host to the first route with this host.
	at map[string]Loss
	// below maps a wildcard host to the first route with a narrower host that the wildcard covers.
	below map[string]Loss
}

func newHoldings() *holdings { return &holdings{at: map[string]Loss{}, below: map[string]Loss{}} }

// take adds the hosts of an accepted route. A host keeps the first route that has it.
func (h *holdings) take(c *Contender) {
	for _, domain := range c.Domains {
		if _, had := h.at[domain]; !had {
			h.at[domain] = Loss{c.Origin.Key, domain}
		}
		for _, wider := range wildcards(domain) {
			if _, had := h.below[wider]; !had {
				h.below[wider] = Loss{c.Origin.Key, domain}
			}
		}
	}
}

// holder looks for an accepted route that has a host in common with domain. If there is such a route, loss has
// that route and the common host, and held is true. Otherwise held is false.
func (h *holdings) holder(domain string) (loss Loss, held bool) {
	for _, at := range append(wildcards(domain), domain) {
		if loss, held = h.at[at]; held {
			return Loss{loss.By, domain}, true
		}
	}
	loss, held = h.below[domain]
	return loss, held
}

// wildcards returns the wildcards that cover a domain, the narrowest first: "*.example.com", "*.com" and "*"
// for "a.example.com". It leaves out the domain itself.
func wildcards(domain string) []string {
	var out []string
	for rest := strings.TrimPrefix(domain, "*."); ; {
		_, parent, more := strings.Cut(rest, ".")
		if !more {
			break
		}
		out, rest = append(out, "*."+parent), parent
	}
	if domain != "*" {
		out = append(out, "*")
	}
	return out
}
