package listen

import (
	"cmp"
	"iter"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// Contender is an HTTPRoute or GRPCRoute that competes for hosts of one listener.
type Contender struct {
	Origin *ir.Origin
	Claims []HostClaim // sorted by Domain, one for each domain
}

// HostClaim is a host that a route requests. Own and Granted are those of its route.Rank.
type HostClaim struct {
	Domain  string // as Place.Domain
	Own     uint16
	Granted bool
}

// asks reports whether the route requests a domain.
func (c *Contender) asks(domain string) bool {
	return slices.ContainsFunc(c.Claims, func(claim HostClaim) bool { return claim.Domain == domain })
}

// Outcome says which routes got the hosts of a listener with routes of both kinds, HTTPRoutes and GRPCRoutes. A nil
// Outcome is that of a listener with routes of one kind: each route gets what it requests.
type Outcome struct {
	// Holders has, for each domain that some route requests, the first of the routes that got it. All routes of its kind
	// that request the domain got it, too.
	Holders map[string]manifest.Key
	// Both are the domains that routes of both kinds request, sorted.
	Both []string
	// Met has, for each route, the routes of the other kind that it met, sorted by Domain.
	Met map[manifest.Key][]Meeting
}

// Meeting is a host that two routes of different kinds request.
type Meeting struct {
	Domain string
	Other  manifest.Key
	Result MeetingResult
	// Why is the reason why the route with the host comes first. It is "" if Result is Wider or Narrower.
	Why string
}

// MeetingResult says which of two routes has the host of a Meeting.
type MeetingResult int8

// The results of a Meeting for a route.
const (
	Lost     MeetingResult = iota // the other route has the host
	Won                           // the route has the host, and the other route requests the same host
	Narrower                      // the route has the host, and the other route has a wildcard, or every host, around it
	Wider                         // the other route has the host, and the route has a wildcard, or every host, around it
)

// Loses reports whether a route lost a domain to a route of the other kind. If so, met is the Meeting with that route.
func (o *Outcome) Loses(key manifest.Key, domain string) (met Meeting, lost bool) {
	if o == nil {
		return met, false
	}
	at := slices.IndexFunc(o.Met[key], func(m Meeting) bool { return m.Result == Lost && m.Domain == domain })
	if at < 0 {
		return met, false
	}
	return o.Met[key][at], true
}

// Incumbents says which routes had hosts of a listener before: in what was published last, or in the saved state.
type Incumbents struct {
	// Before are all routes that requested hosts then, and Given is the Outcome among them.
	Before map[manifest.Key]*Contender
	Given  *Outcome
	// Saved reports whether a route had a domain by the saved state.
	Saved func(key manifest.Key, domain string) bool
}

// have reports whether a route had a domain.
func (i *Incumbents) have(key manifest.Key, domain string) bool {
	if before := i.Before[key]; before != nil && before.asks(domain) {
		_, lost := i.Given.Loses(key, domain)
		return !lost
	}
	return i.Saved(key, domain)
}

// Contest decides which routes get the hosts of one listener. Routes of one kind share a host. An HTTPRoute and a
// GRPCRoute do not: of two routes that request the same domain, the first by route.CompareRanks gets it, with all
// routes of its kind. The other kind loses this domain, and keeps its other domains. If one route has a wildcard, or
// every host, and the other a host within it, both keep what they request, because Envoy selects the virtual host
// with the most specific domain.
//
// This differs from the Gateway API, which has one of the two routes rejected (GRPCRouteSpec.hostnames;
// docs/reference/behaviour.md). The parameter all has the routes in the order of route.CompareOrigins. The result has a
// bounded number of Meetings for each route, except for those that are Lost.
func Contest(all []*Contender, incumbents *Incumbents) *Outcome {
	t := contest{bids: map[string]bids{}, count: map[manifest.Key][4]int{}}
	for _, c := range all {
		for _, claim := range c.Claims {
			t.bids[claim.Domain] = t.bids[claim.Domain].add(c, claim, incumbents)
		}
	}
	t.Outcome = Outcome{Holders: make(map[string]manifest.Key, len(t.bids)), Met: map[manifest.Key][]Meeting{}}
	for domain, of := range t.bids {
		t.Holders[domain] = of.first.key()
		t.domains = append(t.domains, domain)
	}
	slices.Sort(t.domains)
	for _, domain := range t.domains {
		if of := t.bids[domain]; of.other != nil {
			t.Both = append(t.Both, domain)
			t.settle(domain, of)
		}
	}
	t.nest()
	for _, met := range t.Met {
		slices.SortStableFunc(met, func(a, b Meeting) int { return cmp.Compare(a.Domain, b.Domain) })
	}
	return &t.Outcome
}

// contest is a contest in progress.
type contest struct {
	Outcome
	bids    map[string]bids // by domain
	domains []string        // the keys of bids, sorted
	count   map[manifest.Key][4]int
}

// bid is a request of a route for a domain, with its rank.
type bid struct {
	route *Contender
	rank  route.Rank
}

func (b *bid) key() manifest.Key { return b.route.Origin.Key }

// before reports whether b comes before other, which may be nil.
func (b *bid) before(other *bid) bool {
	return other == nil || route.CompareRanks(b.rank, other.rank) < 0
}

// bids are the requests of all routes for one domain.
type bids struct {
	first *bid // the first by rank
	other *bid // the first by rank of the kind that does not get the domain; nil if there is none
	all   []*Contender
}

// add returns the bids with the request of one more route.
func (b bids) add(c *Contender, claim HostClaim, incumbents *Incumbents) bids {
	next := &bid{c, route.Rank{
		Own: claim.Own, Granted: claim.Granted, Origin: c.Origin, Incumbent: incumbents.have(c.Origin.Key, claim.Domain),
	}}
	b.all = append(b.all, c)
	switch same := b.first == nil || b.first.key().Kind == next.key().Kind; {
	case same && next.before(b.first):
		b.first = next
	case same:
	case next.before(b.first): // what was first so far is the first of the kind that does not get the domain
		b.first, b.other = next, b.first
	case next.before(b.other):
		b.other = next
	}
	return b
}

// maxMet is the largest number of Meetings of a route that are Won, Narrower or Wider, for each of these results. It
// is more than a message names, so that the message can say that there are others.
const maxMet = maxOwned + 1

// meet adds a Meeting of a route. It leaves out what exceeds maxMet, and what the route has already.
func (t *contest) meet(key manifest.Key, m Meeting) {
	count := t.count[key]
	if m.Result != Lost && (count[m.Result] == maxMet || slices.Contains(t.Met[key], m)) {
		return
	}
	count[m.Result]++
	t.count[key] = count
	t.Met[key] = append(t.Met[key], m)
}

// settle adds the Meetings of a domain that routes of both kinds request.
func (t *contest) settle(domain string, of bids) {
	holder, why := of.first.key(), route.WhyFirst(of.first.rank, of.other.rank)
	for _, c := range of.all {
		if key := c.Origin.Key; key.Kind != holder.Kind {
			t.meet(key, Meeting{domain, holder, Lost, why})
		}
	}
	t.meet(holder, Meeting{domain, of.other.key(), Won, why})
}

// nest adds the Meetings of domains that lie within a wildcard, or every host, of the other kind. It leaves out
// routes of one namespace, where a route for some hosts beside one for all others is meant.
func (t *contest) nest() {
	within := map[string]*hostsWithin{}
	for _, domain := range t.domains {
		holder := t.Holders[domain]
		for wider := range scope.Wildcards(domain) {
			if around, asked := t.Holders[wider]; !asked || around.Kind == holder.Kind {
				continue
			}
			if within[wider] == nil {
				within[wider] = t.newHostsWithin(wider)
			}
			within[wider].add(Meeting{Domain: domain, Other: holder, Result: Wider})
			if by := within[wider].elsewhere(holder.Namespace); by != nil && !by.asks(domain) {
				t.meet(holder, Meeting{Domain: domain, Other: by.Origin.Key, Result: Narrower})
			}
		}
	}
	for _, wider := range t.domains {
		for _, c := range within[wider].owners() {
			for m := range within[wider].seenFrom(c.Origin.Key.Namespace) {
				if !c.asks(m.Domain) {
					t.meet(c.Origin.Key, m)
				}
			}
		}
	}
}

// hostsWithin are the domains of one kind within a wildcard of the other kind.
type hostsWithin struct {
	around []*Contender // the routes with the wildcard
	// other is the first of these routes in another namespace than the first route. It is nil if there is none.
	other *Contender
	// spaces are the namespaces that have domains within the wildcard, in the order in which they were added. met has
	// the first domains of each, at most maxMet.
	spaces []string
	met    map[string][]Meeting
}

func (t *contest) newHostsWithin(wider string) *hostsWithin {
	out := &hostsWithin{met: map[string][]Meeting{}}
	for _, c := range t.bids[wider].all {
		if key := c.Origin.Key; key.Kind == t.Holders[wider].Kind {
			if out.around = append(out.around, c); out.other == nil && key.Namespace != out.around[0].Origin.Key.Namespace {
				out.other = c
			}
		}
	}
	return out
}

func (h *hostsWithin) add(m Meeting) {
	space := m.Other.Namespace
	if h.met[space] == nil {
		h.spaces = append(h.spaces, space)
	}
	if len(h.met[space]) < maxMet {
		h.met[space] = append(h.met[space], m)
	}
}

// elsewhere returns the first route with the wildcard that is not in a namespace. It returns nil if there is none.
func (h *hostsWithin) elsewhere(namespace string) *Contender {
	if h.around[0].Origin.Key.Namespace != namespace {
		return h.around[0]
	}
	return h.other
}

// owners returns the routes with the wildcard. It returns nil for a nil h.
func (h *hostsWithin) owners() []*Contender {
	if h == nil {
		return nil
	}
	return h.around
}

// seenFrom yields the first domains within the wildcard that routes of other namespaces have, at most maxMet.
func (h *hostsWithin) seenFrom(namespace string) iter.Seq[Meeting] {
	return func(yield func(Meeting) bool) {
		left := maxMet
		for _, space := range h.spaces {
			for _, m := range h.met[space] {
				if space == namespace {
					break
				}
				if left--; left < 0 || !yield(m) {
					return
				}
			}
		}
	}
}
