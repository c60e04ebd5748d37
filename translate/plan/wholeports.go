package plan

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// WholePort is the Match of a Region that contains all requests to a port, for any host.
const WholePort = "every request to the port"

// whole adds to the report a port that only one side has: every request to the port changes. If a route serves
// the port, the example is a request that the route serves.
func (p *portPair) whole() {
	side := 0
	if p.ports[0] == nil {
		side = 1
	}
	h, r := p.servedRequest(side)
	h.add(pair{}, r, WholePort, []Reason{{Text: p.wholeWords(side), At: p.portPlaces()}})
}

// wholeWords returns, in words, that a port is new or gone, and with which listeners. The parameter side is the only
// side (0 is the old configuration, 1 the new one) that has the port. If the other side has one of these listeners
// on another port, the text names that port.
func (p *portPair) wholeWords(side int) string {
	port := p.ports[side].Port
	verb := []string{"is gone", "is new"}[side]
	text := fmt.Sprintf("port %d of Gateway %s %s, with %s", p.key.port, p.key.gateway, verb, listenerNames(port.Listeners))
	var elsewhere []string
	for _, gateway := range p.comparison.sides[1-side].View.Gateways {
		if gateway.Name != p.key.gateway {
			continue
		}
		for i := range gateway.Ports {
			other := gateway.Ports[i].Port
			same := slices.ContainsFunc(other.Listeners, func(l ir.Listener) bool {
				return slices.ContainsFunc(port.Listeners, func(own ir.Listener) bool { return own.ID() == l.ID() })
			})
			if same {
				elsewhere = append(elsewhere, fmt.Sprintf("%s port %d", other.Scheme(), other.Port))
			}
		}
		if len(elsewhere) > 0 {
			return text + []string{"; it listens on ", "; it listened on "}[side] + strings.Join(elsewhere, " and ")
		}
		return text
	}
	if side == 0 {
		return text + "; no Gateway of this name listens any more"
	}
	return text
}

// listenerNames returns the names of listeners as text: at most maxListed, and the number of the others.
func listenerNames(all []ir.Listener) string {
	var names []string
	for i, l := range all {
		if i == maxListed {
			names = append(names, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		names = append(names, l.ID())
	}
	if len(names) == 1 {
		return "listener " + names[0]
	}
	return "listeners " + strings.Join(names, ", ")
}

// maxServed bounds how many hosts servedRequest tries, and how many rules of each host.
const maxServed = 32

// servedRequest returns a request that a route of the port serves, and the host for it. It tries requests of
// the first rules, and returns the best one (see rankOf). It stops at the first request that reaches a backend.
// If no request gets an answer from a route, it returns plainRequest for the host any.example.
func (p *portPair) servedRequest(side int) (best *hostPair, request request) {
	port := p.ports[side]
	domains := map[string]bool{}
	for _, host := range port.Hosts {
		domains[host.Domain] = true
	}
	best, request = p.hostAt("any.example"), plainRequest()
	rank := 0
	for i := range port.Hosts[:min(len(port.Hosts), maxServed)] {
		names := []string{memberOf(port.Hosts[i].Domain, among(domains))}
		for rule := range port.Hosts[i].Rules { // delegated rules may be for some hosts only
			if len(rule.Match.Hosts) > 0 {
				names = append(names, memberOf(rule.Match.Hosts[0], among(nil)))
			}
			break
		}
		for _, name := range names {
			h := p.hostAt(name)
			p.comparison.budget.host = maxHostSteps
			first := *h.tables[side]
			first.entries = first.entries[:min(len(first.entries), maxServed)]
			other := &table{}
			align(&first, other, true)
			all, _, _ := p.comparison.pairsOf(&first, other, true)
			for _, one := range all {
				if r := rankOf(h.answer(side, h.query(variant{request: one.request}))); r > rank {
					best, request, rank = h, one.request, r
				}
				if rank == rankOf(Answer{Outcome: explain.Forwarded}) {
					return best, request
				}
			}
		}
	}
	return best, request
}

// rankOf returns how well an answer shows that a port serves requests, from 0 to 4. 4 means that a backend gets
// the request.
func rankOf(a Answer) int {
	switch a.Outcome {
	case explain.Forwarded:
		return 4
	case explain.Redirected:
		return 3
	case explain.Responded:
		if a.Status < http.StatusInternalServerError {
			return 2
		}
		return 1
	}
	return 0
}

// plainRequest returns GET / without headers.
func plainRequest() request {
	return request{path: "/", method: http.MethodGet, headers: http.Header{}}
}

// hostAt returns the rules for a host on both sides. A side without the port, or without a filter chain for the
// host, has an empty table.
func (p *portPair) hostAt(host string) *hostPair {
	h := &hostPair{port: p, sni: host, host: host, named: "*"}
	for side, port := range p.ports {
		if port != nil {
			if chain, found := p.chain(side, host); found {
				h.views[side] = p.table(side, chain, host)
			}
		}
	}
	h.fillTables()
	h.fillIndexes()
	return h
}
