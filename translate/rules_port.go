package translate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// portOut is one listener of Envoy.
type portOut struct {
	Port     *ir.Port
	Resource xds.Resource
}

// resourceOf returns the Resource, nil for a nil portOut.
func resourceOf(p *portOut) *xds.Resource {
	if p == nil {
		return nil
	}
	return &p.Resource
}

type portIn struct {
	*gatewayRules
	hostPolicy     *memo.Rule[listenerKey, *hostPolicy]
	policed        *memo.Rule[string, bool]
	streams        *memo.Fold[portKey, manifest.Key, *listen.Claimant, ordered.Set[*listen.Claimant]]
	stream         *memo.Rule[manifest.Key, *streamOut]
	holders        *holdersInput
	ExclusivePorts bool
	TrustedHops    uint32
}

// portRules build the listeners of Envoy.
type portRules struct {
	in       portIn
	listener *memo.Rule[portKey, *portOut]
	losses   *memo.Fold[manifest.Key, lossKey, *loss, ordered.Set[*loss]]
	// before says which routes had the connections of a port before. It is read only where several routes want them.
	before *recall[portKey, *portOut]
}

func newPortRules(e *memo.Engine, in portIn) *portRules {
	r := &portRules{in: in, before: newRecall[portKey](e, "hadstreams", identical[*portOut])}
	r.listener = memo.NewRule(e, "listener", r.runListener, deepEqual)
	memo.EachOf(r.listener, in.gateway, func(_ manifest.Key, g *listen.Gateway) []portKey {
		var keys []portKey
		if g != nil {
			for _, port := range g.Ports() {
				keys = append(keys, portKey{g.Name, int32(port.Port), port.UDP})
			}
		}
		return keys
	})
	r.before.follow(r.listener)
	r.losses = memo.NewFold[manifest.Key, lossKey](e, "losses", gather[lossKey](compareLosses), ordered.Set[*loss].Same)
	memo.From(r.losses, r.listener, lossesOf, deepEqual)
	return r
}

func (r *portRules) report(all *problemFold) {
	problemsFrom(all, "losses", r.losses, lossProblems)
}

// hold implements holder.
func (r *portRules) hold(all *holdingFold) {
	holdingsFrom(all, r.listener, func(key portKey, p *portOut) Holders {
		out := Holders{}
		for i := range p.Port.Streams {
			stream := &p.Port.Streams[i]
			for _, rival := range stream.Behind {
				for _, domain := range streamDomains(rival.Domains) {
					out[streamThing(key, stream.Listener, domain)] = stream.Route.Origin.Key
				}
			}
		}
		return out
	})
}

// streamThing returns the Thing for the connections of a listener with a server name.
func streamThing(at portKey, listener, domain string) Thing {
	return Thing{Gateway: at.Gateway, Listener: listener, Host: domain, Port: at.Port, UDP: at.UDP}
}

// streamDomains returns the domains of an ir.Stream or ir.Rival as they are in listen.Place: "*" for nil.
func streamDomains(domains []string) []string {
	if domains == nil {
		return []string{"*"}
	}
	return domains
}

// had reports whether a route had the connections of a listener with a server name (domain) before.
func (r *portRules) had(c *memo.Ctx, at portKey, listener, domain string, route manifest.Key) bool {
	if before, _ := r.before.Get(c, at); before != nil {
		for i := range before.Port.Streams {
			s := &before.Port.Streams[i]
			if s.Listener == listener && s.Route != nil && s.Route.Origin.Key == route && slices.Contains(streamDomains(s.Domains), domain) {
				return true
			}
		}
	}
	return r.in.holders.has(c, streamThing(at, listener, domain), route)
}

// runListener returns the Envoy listener for a port of a Gateway. It panics if the Gateway does not have the
// port.
func (r *portRules) runListener(c *memo.Ctx, key portKey) *portOut {
	g := r.in.gateway.Get(c, ir.GatewayKey(key.Gateway))
	for _, port := range g.Ports() {
		if port.Port == uint32(key.Port) && port.UDP == key.UDP {
			port.Exclusive = r.in.ExclusivePorts
			port.TrustedHops = r.in.TrustedHops
			if len(port.Streams) > 0 {
				claimants, _ := r.in.streams.Get(c, key)
				listen.Assign(port, claimants.All(), func(listener, domain string, route manifest.Key) bool {
					return r.had(c, key, listener, domain, route)
				})
				r.admit(c, port)
				renameClusters(port, r.in.clientOf(c, key.Gateway))
			}
			return &portOut{Port: port, Resource: xds.Listener(port)}
		}
	}
	panic(fmt.Sprintf("translate: no port %v", key))
}

// admit sets which clients may connect to each TCP, TLS or UDP route of a port (Access of each ir.Stream). The policies
// of the route and those of the listener are merged as for requests (policy.Stack). But if the policies of either
// refuse all connections, no client may connect.
func (r *portRules) admit(c *memo.Ctx, port *ir.Port) {
	policed := r.in.policed.Get(c, port.Gateway)
	for i := range port.Streams {
		s := &port.Streams[i]
		if s.Route == nil {
			continue
		}
		s.Access = s.Route.Access
		if !policed {
			continue
		}
		host := r.in.hostPolicy.Get(c, listenerKey{port.Gateway, s.Listener})
		switch own := r.in.stream.Get(c, s.Route.Origin.Key).Policies; {
		case host.StreamsClosed != nil:
			s.Access = accessOf(&host.Resolved, host.StreamsClosed)
		case own == nil && s.Access == nil:
			s.Access = accessOf(&host.Resolved, nil)
		case own != nil:
			merged := own.Below(host.Layers)
			s.Access = accessOf(&merged, nil)
		}
	}
}

// renameClusters changes the cluster names in the streams (ir.Stream) of a TCP port. A stream with TLS
// passthrough gets the names of clusters to which Envoy adds no TLS of its own (backend.Raw). Any other stream gets
// the names of clusters that present the Gateway's client certificate. The parameter client is "namespace/name" of
// the Secret with that certificate. If client is "", the names of these other streams do not change.
func renameClusters(port *ir.Port, client string) {
	for i := range port.Streams {
		if s := &port.Streams[i]; s.Route != nil && !port.UDP {
			s.Route = s.Route.Renamed(func(cluster string) string {
				if s.Raw() {
					return backend.Raw(cluster)
				}
				return backend.As(cluster, client)
			})
		}
	}
}

// lossKey identifies a conflict of two TCP, TLS or UDP routes on a port, which both requested the same
// connections of a listener (ir.Stream). The problem is reported on one route, and Other is the other route.
type lossKey struct {
	portKey
	Listener string
	Other    manifest.Key
	// Wins is true if the problem is reported on the route that won. The route Other then lost.
	Wins bool
}

// loss is a conflict of two routes that requested the same connections of a listener: only one route got them.
// The problem is reported on Route. Domains has the hostnames in conflict, as in ir.Stream.
type loss struct {
	lossKey
	Route   manifest.Key
	Domains []string
	Why     string // why the route that got the connections comes first
}

func compareLosses(a, b *loss) int {
	return cmp.Or(comparePortKeys(a.portKey, b.portKey), cmp.Compare(a.Listener, b.Listener), manifest.CompareKeys(a.Other, b.Other),
		ir.TrueFirst(!a.Wins, !b.Wins))
}

// String returns the message for the route that lost: which route takes precedence, and what that route gets.
func (l *loss) String() string {
	return fmt.Sprintf("%s takes precedence (%s), and gets %s listener %s", l.Other, l.Why, l.what(), l.Listener)
}

// what describes, as text, the part of the listener that both routes requested.
func (l *loss) what() string {
	if l.Domains != nil {
		return route.Several(l.Domains) + " of"
	}
	return "all that comes to"
}

// lossesOf yields the conflicts of a port (see loss). The Key of each memo.Place is the route on which the conflict
// is reported. This is the route that lost: an older route got the connections. If the two routes are in different
// namespaces, lossesOf yields the conflict a second time, for the older route.
func lossesOf(at portKey, p *portOut, yield func(memo.Place[manifest.Key, lossKey], *loss)) {
	for i := range p.Port.Streams {
		stream := &p.Port.Streams[i]
		for _, rival := range stream.Behind {
			winner := stream.Route.Origin.Key
			l := &loss{lossKey{at, stream.Listener, winner, false}, rival.Route, rival.Domains, rival.Why}
			yield(memo.Place[manifest.Key, lossKey]{Key: rival.Route, ID: l.lossKey}, l)
			if winner.Namespace != rival.Route.Namespace {
				w := &loss{lossKey{at, stream.Listener, rival.Route, true}, winner, rival.Domains, rival.Why}
				yield(memo.Place[manifest.Key, lossKey]{Key: winner, ID: w.lossKey}, w)
			}
		}
	}
}

// lossProblems returns a problem for each loss of a route (see loss): an older route got the connections, or this
// route got them and a route of another namespace did not.
func lossProblems(lost ordered.Set[*loss]) []manifest.Problem {
	var out []manifest.Problem
	for l := range lost.All() {
		out = append(out, l.problem())
	}
	return out
}

func (l *loss) problem() manifest.Problem {
	problem := manifest.Problem{
		Code: "OlderRouteWins", Severity: manifest.Warning, Object: l.Route, Field: "spec.parentRefs",
		Message: fmt.Sprintf("on port %d of Gateway %s, %s", l.Port, l.Gateway, l),
		Hint:    "a listener of TCP or UDP serves one route: give this one a listener, and so a port, of its own",
	}
	if l.Domains != nil {
		problem.Hint = "a hostname of a listener is one route's: take it out of one of them"
	}
	if l.Other.Namespace != l.Route.Namespace {
		problem.Code = codeShadowed
	}
	if l.Wins {
		problem.Code = codeContested
		problem.Message = fmt.Sprintf("on port %d of Gateway %s, this route has %s listener %s, which %s asks for as well", l.Port, l.Gateway, l.what(), l.Listener, l.Other)
	}
	return problem
}
