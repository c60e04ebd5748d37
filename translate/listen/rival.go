package listen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
)

// Rival is a route that has a host on a listener of another namespace.
type Rival struct {
	Route manifest.Key
	// Platform is true if path policies are in force and the route is of the platform team (the flag --cluster-paths).
	Platform bool
	// Granted is true if the annotation gatefold.io/hostnames of the route's Namespace has the host.
	Granted bool
	// Domain is the host, written as in Place.
	Domain string
	// Listener is the ID of the listener. Owner is the namespace of the object that defines it, and Hostname is its
	// hostname, "" for every host.
	Listener, Owner, Hostname string
}

// Rival returns the route with an Origin as a Rival in a place, which must be one that Attach returned.
func (p *Part) Rival(place Place, of *ir.Origin) *Rival {
	l := p.Listeners[slices.IndexFunc(p.Listeners, func(l *Listener) bool { return l.ID() == place.Listener })]
	return &Rival{
		Route: of.Key, Platform: !of.Outside, Granted: place.Granted, Domain: place.Domain,
		Listener: place.Listener, Owner: l.Owner.Namespace, Hostname: l.Hostname,
	}
}

// Loser reports whether a listener takes the host away from the route, and may not. The parameter l is a listener of
// a team (Listener.Outside) on the same port. The parameter granted is true if the annotation gatefold.io/hostnames
// of its namespace has its hostname.
//
// The listener takes the host if it has the more specific hostname: then its routes get the requests (Gateway API,
// listener isolation). Routes and listeners of its own namespace lose nothing to it. Otherwise the listener may take
// the host only if the platform team granted it: with a hostname within the route's wildcard, or from a route of a
// team without that grant.
func (r *Rival) Loser(l *Listener, granted bool) bool {
	if r.Owner == l.Owner.Namespace || r.Route.Namespace == l.Owner.Namespace || !scope.CoversHost(r.Hostname, l.Hostname) {
		return false
	}
	if host := hostname(r.Domain); host != l.Hostname && scope.CoversHost(host, l.Hostname) {
		return !granted
	}
	return !granted || r.Platform || r.Granted
}

// CompareRivals orders rivals by route, listener and domain.
func CompareRivals(a, b *Rival) int {
	return cmp.Or(manifest.CompareKeys(a.Route, b.Route), cmp.Compare(a.Listener, b.Listener), cmp.Compare(a.Domain, b.Domain))
}

// Taking is the reason why a listener of a team is not served: it would take a host away from a route or a Namespace.
type Taking struct{ Message, Hint string }

// TakesFromRoute returns the Taking of the listener l: the rival r is its Loser.
func (l *Listener) TakesFromRoute(r *Rival) *Taking {
	return &Taking{
		Message: fmt.Sprintf("%s has %s on listener %s of the same port; a listener outside of --cluster-paths takes no host from a route of another namespace", r.Route, r.Domain, r.Listener),
		Hint:    l.otherHost(),
	}
}

// TakesFromNamespace returns the Taking of the listener l: the Namespace owner has one of its hosts, and the
// Namespace of the listener has not.
func (l *Listener) TakesFromNamespace(owner, host string) *Taking {
	return &Taking{
		Message: fmt.Sprintf("the annotation %s of Namespace %s has %s, and that of Namespace %s has not", tenancy.AnnotationHosts, owner, host, l.Owner.Namespace),
		Hint:    l.otherHost(),
	}
}

// otherHost returns the hint for a listener that would take a host of others.
func (l *Listener) otherHost() string {
	return fmt.Sprintf("choose another hostname; or let the platform team add %s to the annotation %s of Namespace %s",
		l.Domain(), tenancy.AnnotationHosts, l.Owner.Namespace)
}

// SharedSockets returns the ports of the Gateway on which a listener of a team (Listener.Outside) meets a listener of
// another namespace.
func (g *Gateway) SharedSockets() map[Socket]bool {
	if g == nil {
		return nil
	}
	served := slices.DeleteFunc(slices.Clone(g.Listeners), func(l *Listener) bool { return !l.Serves() })
	shared := meetings(served, func(l *Listener) string { return l.Owner.Namespace })
	for at := range shared {
		if !slices.ContainsFunc(served, func(l *Listener) bool { return l.Outside && l.Socket() == at }) {
			delete(shared, at)
		}
	}
	return shared
}

// meetings returns the ports on which listeners of several owners meet.
func meetings[K comparable](listeners []*Listener, owner func(*Listener) K) map[Socket]bool {
	first, met := map[Socket]K{}, map[Socket]bool{}
	for _, l := range listeners {
		if before, seen := first[l.Socket()]; !seen {
			first[l.Socket()] = owner(l)
		} else if before != owner(l) {
			met[l.Socket()] = true
		}
	}
	return met
}

// Domain returns the hostname of the listener as it is written in Place: "*" for every host.
func (l *Listener) Domain() string { return domain(l.Hostname) }

// Contested returns the listeners that have their hostname (see Has), of ports on which listeners of several objects
// meet. Others may want what these listeners have. It returns nil for a nil Gateway.
func (g *Gateway) Contested() (out []*Listener) {
	if g == nil {
		return nil
	}
	met := meetings(g.Listeners, func(l *Listener) manifest.Key { return l.Owner })
	for _, l := range g.Listeners {
		if l.Accepted.Good() && l.Conflicted.Good() && met[l.Socket()] {
			out = append(out, l)
		}
	}
	return out
}
