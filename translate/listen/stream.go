package listen

import (
	"cmp"
	"iter"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
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

// Had reports whether a route had a domain of a listener in what was published last, or in the saved state. The
// parameter listener is the ID of the listener.
type Had func(listener, domain string, key manifest.Key) bool

// Assign gives the hostnames of TCP, TLS and UDP listeners to routes: a hostname goes to the first route by
// route.CompareRanks that requests it. The claimants must be in the conflict resolution order. Assign calls had only
// for hostnames that several routes request.
//
// Before the call, port.Streams has one ir.Stream for each listener, without a route. After the call, it has one
// ir.Stream for each listener and each route that got hostnames of this listener. If no route got the
// complete hostname of the listener, the ir.Stream without a route stays, too. For example, the only route of
// *.example.com may request just a.example.com. Envoy closes connections, and drops datagrams, that no route gets.
func Assign(port *ir.Port, claimants iter.Seq[*Claimant], had Had) {
	var out []ir.Stream
	for _, own := range port.Streams {
		a := streamContest{own: own, bids: map[string][]streamBid{}, at: map[*Claimant]int{}}
		for c := range claimants {
			a.bid(c)
		}
		a.decide(had)
		streams := a.streams()
		if len(a.bids[domain(own.Chain)]) == 0 {
			streams = append(streams, own)
		}
		slices.SortFunc(streams, compareStreams)
		out = append(out, streams...)
	}
	port.Streams = out
}

// streamContest gives the domains of one listener to routes.
type streamContest struct {
	own  ir.Stream              // of the listener, without a route
	all  []*Claimant            // those that request domains of the listener
	bids map[string][]streamBid // by domain; after decide, the first one has it
	at   map[*Claimant]int      // the index of a claimant's ir.Stream
}

// streamBid is a request of a route for a domain.
type streamBid struct {
	claimant *Claimant
	rank     route.Rank
}

// bid adds the requests of a route for domains of the listener.
func (a *streamContest) bid(c *Claimant) {
	asks := false
	for _, place := range c.Places {
		if place.Chain == a.own.Chain {
			asks = true
			rank := route.Rank{Own: route.Specific(place.Own), Granted: place.Granted, Origin: c.Route.Origin}
			a.bids[place.Domain] = append(a.bids[place.Domain], streamBid{c, rank})
		}
	}
	if asks {
		a.all = append(a.all, c)
	}
}

// decide puts the route that gets a domain in front of the bids for the domain.
func (a *streamContest) decide(had Had) {
	for domain, bids := range a.bids {
		if len(bids) == 1 {
			continue
		}
		for i := range bids {
			bids[i].rank.Incumbent = had(a.own.Listener, domain, bids[i].rank.Origin.Key)
		}
		slices.SortFunc(bids, func(a, b streamBid) int { return route.CompareRanks(a.rank, b.rank) })
	}
}

// streams returns an ir.Stream for each route that got domains. Its field Behind has the routes that lost some of them.
func (a *streamContest) streams() (out []ir.Stream) {
	for _, c := range a.all {
		stream := a.own
		stream.Route, stream.Domains = c.Route, nil
		for _, place := range c.Places {
			if place.Chain == a.own.Chain && a.bids[place.Domain][0].claimant == c {
				stream.Domains = append(stream.Domains, place.Domain)
			}
		}
		if len(stream.Domains) == 0 {
			continue
		}
		if a.own.Domains == nil {
			stream.Domains = nil
		}
		a.at[c] = len(out)
		out = append(out, stream)
	}
	for _, c := range a.all {
		a.lose(out, c)
	}
	return out
}

// lose adds a route to the field Behind of each ir.Stream in out that has domains which the route requests.
func (a *streamContest) lose(out []ir.Stream, c *Claimant) {
	lost := map[int]ir.Rival{}
	for _, place := range c.Places {
		if place.Chain != a.own.Chain || a.bids[place.Domain][0].claimant == c {
			continue
		}
		bids := a.bids[place.Domain]
		at := a.at[bids[0].claimant]
		rival := lost[at]
		if a.own.Domains != nil {
			rival.Domains = append(rival.Domains, place.Domain)
		}
		if rival.Why == "" {
			own := slices.IndexFunc(bids, func(b streamBid) bool { return b.claimant == c })
			rival.Why = route.WhyFirst(bids[0].rank, bids[own].rank)
		}
		rival.Route = c.Route.Origin.Key
		lost[at] = rival
	}
	for at, rival := range lost {
		out[at].Behind = append(out[at].Behind, rival)
	}
}

// compareStreams orders the ir.Streams of a listener by name. So an edit of one of them does not move the
// others.
func compareStreams(a, b ir.Stream) int { return cmp.Compare(a.Name(), b.Name()) }
