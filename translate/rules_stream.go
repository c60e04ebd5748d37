package translate

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// streamOut is a TCPRoute, TLSRoute or UDPRoute, and where it attaches.
type streamOut struct {
	Attach *attachOut
	*route.StreamFlat
	// Clients are the Gateways that show backends a certificate, and its Secret.
	Clients map[string]string
}

type streamIn struct {
	*spreadRules
	*gatewayRules
	backend *memo.Rule[backend.Reference, backend.Resolution]
	routes  *objects
}

// streamRules read TCPRoutes, TLSRoutes and UDPRoutes.
type streamRules struct {
	in      streamIn
	stream  *memo.Rule[manifest.Key, *streamOut]
	streams *memo.Fold[portKey, manifest.Key, *listen.Claimant, memo.Ordered[*listen.Claimant]]
}

func newStreamRules(e *memo.Engine, in streamIn) *streamRules {
	r := &streamRules{in: in}
	r.stream = memo.NewRule(e, "stream", r.runStream, deepEqual)
	memo.EachOf(r.stream, in.routes, func(key manifest.Key, _ *manifest.Object) []manifest.Key {
		if !route.IsStream(key) {
			return nil
		}
		return []manifest.Key{key}
	})
	r.streams = memo.NewFold[portKey, manifest.Key](e, "streams", gather[manifest.Key](compareClaimants), memo.Ordered[*listen.Claimant].Same)
	memo.From(r.streams, r.stream, func(key manifest.Key, s *streamOut, yield func(memo.Place[portKey, manifest.Key], *listen.Claimant)) {
		for at, places := range s.places() {
			yield(memo.Place[portKey, manifest.Key]{Key: at, ID: key}, &listen.Claimant{Route: s.Route, Places: places})
		}
	}, deepEqual)
	return r
}

func (r *streamRules) report(all *problemFold) {
	problemsFrom(all, "stream", r.stream, func(s *streamOut) []manifest.Problem { return s.Problems })
}

func compareClaimants(a, b *listen.Claimant) int {
	return route.CompareOrigins(a.Route.Origin, b.Route.Origin)
}

// places returns the places of the route on each port, sorted and unique.
func (s *streamOut) places() map[portKey][]listen.Place {
	out := map[portKey][]listen.Place{}
	for _, parent := range s.Attach.Parents {
		for _, place := range parent.Places {
			at := portKey{parent.Gateway, place.Port, place.UDP}
			out[at] = append(out[at], place)
		}
	}
	for at, places := range out {
		slices.SortFunc(places, func(a, b listen.Place) int {
			return cmp.Or(cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Domain, b.Domain))
		})
		out[at] = slices.Compact(places)
	}
	return out
}

func (r *streamRules) runStream(c *memo.Ctx, key manifest.Key) *streamOut {
	object, ok := r.in.routes.Get(c, key)
	if !ok {
		return &streamOut{Attach: &attachOut{}, StreamFlat: &route.StreamFlat{}}
	}
	out := &streamOut{Attach: r.in.where(c, key), StreamFlat: route.Stream(object, func(ref gwv1.BackendObjectReference) backend.Resolution {
		return r.in.backend.Get(c, streamRefer(key, ref))
	}), Clients: map[string]string{}}
	for _, parent := range out.Attach.Parents {
		if client := r.in.clientOf(c, parent.Gateway); client != "" {
			out.Clients[parent.Gateway] = client
		}
	}
	return out
}

// dress names the clusters of the streams of a TCP port: those that TLS goes through to
// are spoken to as they are, others with the certificate of the Gateway.
func dress(port *ir.Port, client string) {
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

// dressed returns the backends of a route as dress names them at a place.
func (s *streamOut) dressed(gateway string, at listen.Place) []*backend.Key {
	switch {
	case at.UDP:
		return s.Backends
	case !at.Raw:
		return shownBackends(s.Clients[gateway], s.Backends)
	}
	return backend.Changed(s.Backends, func(to *backend.Key) { to.Raw = true })
}

func streamRefer(from manifest.Key, ref gwv1.BackendObjectReference) backend.Reference {
	out := backend.Refer(from, ref)
	out.UDP = from.Kind == "UDPRoute"
	return out
}

// streamUses names the backends that a route makes each of its Gateways need.
func streamUses(key manifest.Key, s *streamOut, yield func(memo.Place[useKey, flatKey], struct{})) {
	seen := map[useKey]bool{}
	for at, places := range s.places() {
		for _, place := range places {
			eachUse(tableKey{chainKey: chainKey{portKey: at}}, s.dressed(at.Gateway, place), seen, func(use useKey) {
				yield(memo.Place[useKey, flatKey]{Key: use, ID: flatKey{Route: key}}, struct{}{})
			})
		}
	}
}

// runBlend returns the cluster of a UDPRoute. Its backends are clusters of their own
// that no Envoy is sent.
func (r *clusterRules) runBlend(c *memo.Ctx, key backend.Key) *clusterOut {
	object, ok := r.in.routes.Get(c, key.Object)
	if !ok {
		return nil
	}
	var parts []backend.Part
	flat := route.Stream(object, func(ref gwv1.BackendObjectReference) backend.Resolution {
		resolution := r.in.backend.Get(c, streamRefer(key.Object, ref))
		part := backend.Part{}
		if resolution.OK() {
			if out := r.cluster.Get(c, *resolution.Key); out != nil {
				part.Cluster = out.Source
			}
		}
		parts = append(parts, part)
		return resolution
	})
	for i := range parts {
		parts[i].Weight = flat.Route.Backends[i].Weight
	}
	return newCluster(backend.Blend(key, parts), nil)
}

// streamOutcome is what status tells of a route of streams. One that has lost what it
// asks for to older ones is accepted all the same, and says so (Gateway API,
// conflicts).
func (r *routeStatusRules) streamOutcome(c *memo.Ctx, key manifest.Key) outcome {
	s := r.in.stream.Get(c, key)
	out := outcome{Attach: s.Attach, Resolved: manifest.Verdict[gwv1.RouteConditionReason](s.Unresolved)}
	if lost, _ := r.in.losses.Get(c, key); lost.Len() > 0 {
		out.Lost = map[listenerKey][]string{}
		for l := range lost.All() {
			if l.Wins {
				continue
			}
			at := listenerKey{l.Gateway, l.Listener}
			out.Lost[at] = append(out.Lost[at], l.String())
		}
	}
	return out
}

// lossKey is a stream that two routes ask for.
type lossKey struct {
	portKey
	Listener string
	Other    manifest.Key
	// Wins is true if it is the other route that does not get it.
	Wins bool
}

// loss is what one of them does not get of it: Domains as in ir.Stream.
type loss struct {
	lossKey
	Route   manifest.Key
	Domains []string
}

func compareLosses(a, b *loss) int {
	return cmp.Or(comparePortKeys(a.portKey, b.portKey), cmp.Compare(a.Listener, b.Listener), manifest.CompareKeys(a.Other, b.Other),
		ir.TrueFirst(!a.Wins, !b.Wins))
}

func (l *loss) String() string {
	return fmt.Sprintf("%s goes before it, by age or else by name, and has %s listener %s", l.Other, l.what(), l.Listener)
}

// what says in words what of the listener both ask for.
func (l *loss) what() string {
	if l.Domains != nil {
		return route.Several(l.Domains) + " of"
	}
	return "all that comes to"
}

// lossesOf yields the losses on a port, by the route that lost and, where two namespaces
// are concerned, by the one that has it, too.
func lossesOf(at portKey, p *portOut, yield func(memo.Place[manifest.Key, lossKey], *loss)) {
	for i := range p.Port.Streams {
		stream := &p.Port.Streams[i]
		for _, rival := range stream.Behind {
			winner := stream.Route.Origin.Key
			l := &loss{lossKey{at, stream.Listener, winner, false}, rival.Route, rival.Domains}
			yield(memo.Place[manifest.Key, lossKey]{Key: rival.Route, ID: l.lossKey}, l)
			if winner.Namespace != rival.Route.Namespace {
				w := &loss{lossKey{at, stream.Listener, rival.Route, true}, winner, rival.Domains}
				yield(memo.Place[manifest.Key, lossKey]{Key: winner, ID: w.lossKey}, w)
			}
		}
	}
}

// lossProblems tells the owners of the routes.
func lossProblems(lost memo.Ordered[*loss]) []manifest.Problem {
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
		problem.Message = fmt.Sprintf("on port %d of Gateway %s, this route has %s listener %s, which %s asks for as well", l.Port, l.Gateway, l.what(), l.Listener, l.Other)
	}
	return problem
}
