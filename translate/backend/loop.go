package backend

import (
	"net/netip"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// Allows reports whether an endpoint is in Guard.Allow, and so may get requests whatever it is.
func (g *Guard) Allows(e ir.Endpoint) bool { return g.spotOf(e).among(g.Allow) }

// Place returns the name of an endpoint, in lower case and without a final dot, and the addresses that it is known to
// have. The name is "" for an address, in all forms that resolvers accept (127.1). Of a name of this machine, addresses
// has those in Guard.Hosts.
func (g *Guard) Place(e ir.Endpoint) (name string, addresses []netip.Addr) {
	name = canonical(e.Host)
	if address, ok := addressOf(e.Host); ok {
		if !isLocal(name) {
			name = ""
		}
		return name, []netip.Addr{address}
	}
	return name, g.Hosts[name]
}

// Reaches reports whether an endpoint leads to a listener on one of the given addresses, if the ports are equal. A
// listener on all interfaces is reached at each address of this machine, and an endpoint without an address (0.0.0.0) at
// the loopback address.
func (g *Guard) Reaches(e ir.Endpoint, listener []string) bool {
	at := g.spotOf(e).addresses
	if isLocal(canonical(e.Host)) {
		at = append(at, netip.IPv6Loopback())
	}
	return slices.ContainsFunc(listener, func(text string) bool {
		on, err := netip.ParseAddr(text)
		return err == nil && slices.ContainsFunc(at, func(a netip.Addr) bool { return g.isAt(a, on.WithZone("").Unmap()) })
	})
}

// isAt reports whether packets for the address a come to a listener on the address on.
func (g *Guard) isAt(a, on netip.Addr) bool {
	switch {
	case on.IsUnspecified():
		return own(a) || slices.Contains(g.Machine, a)
	case a.IsUnspecified():
		return on.IsLoopback()
	}
	return a == on
}
