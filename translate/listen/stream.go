package listen

import (
	"cmp"
	"iter"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// Claimant is a TCPRoute, TLSRoute or UDPRoute that requests hostnames or whole listeners on one port of one Gateway.
type Claimant struct {
	Route *ir.StreamRoute
	// Places are the requested hostnames and listeners on the port, sorted by the fields Chain and Domain of Place.
	Places []Place
}

// stream returns the ir.Stream of the listener, without a route.
func (l *Listener) stream() ir.Stream {
	out := ir.Stream{Listener: l.ID(), Chain: l.chain(), TLS: l.terminate()}
	if out.Chain != "" {
		out.Domains = []string{out.Chain}
	}
	return out
}

// Assign gives the hostnames of TCP, TLS and UDP listeners to routes. The claimants must be in the conflict
// resolution order: a hostname goes to the first route that requests it.
//
// Before the call, port.Streams has one ir.Stream for each listener, without a route. After the call, it has one
// ir.Stream for each listener and each route that got hostnames of this listener. If no route got the
// complete hostname of the listener, the ir.Stream without a route stays, too. For example, the only route of
// *.example.com may request just a.example.com. Envoy closes connections, and drops datagrams, that no route gets.
func Assign(port *ir.Port, claimants iter.Seq[*Claimant]) {
	var out []ir.Stream
	for _, own := range port.Streams {
		taken := map[string]int{} // by domain, the index in out
		first := len(out)
		for c := range claimants {
			out = c.claim(out, own, taken)
		}
		if _, gone := taken[domain(own.Chain)]; !gone {
			out = append(out, own)
		}
		slices.SortFunc(out[first:], compareStreams)
	}
	port.Streams = out
}

// claim gives domains of one listener to the route of c: the domains that the route requests, and that no earlier
// route got. If the route gets domains, claim appends an ir.Stream for the route to out. If an earlier route got a
// requested domain, claim adds the route of c to the field Behind of the earlier route's ir.Stream. The parameter
// own is the ir.Stream of the listener, without a route. The map taken has the domains that routes got, each with
// the index of the route's ir.Stream in out.
func (c *Claimant) claim(out []ir.Stream, own ir.Stream, taken map[string]int) []ir.Stream {
	stream, lost := own, map[int][]string{}
	stream.Route, stream.Domains = c.Route, nil
	for _, place := range c.Places {
		if place.Chain != own.Chain {
			continue
		}
		if at, is := taken[place.Domain]; is {
			lost[at] = append(lost[at], place.Domain)
			continue
		}
		taken[place.Domain] = len(out)
		stream.Domains = append(stream.Domains, place.Domain)
	}
	for at, domains := range lost {
		if own.Domains == nil {
			domains = nil
		}
		out[at].Behind = append(out[at].Behind, ir.Rival{Route: c.Route.Origin.Key, Domains: domains})
	}
	if len(stream.Domains) == 0 {
		return out
	}
	if own.Domains == nil {
		stream.Domains = nil
	}
	return append(out, stream)
}

// compareStreams orders the ir.Streams of a listener by name. So an edit of one of them does not move the
// others.
func compareStreams(a, b ir.Stream) int { return cmp.Compare(a.Name(), b.Name()) }
