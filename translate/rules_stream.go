package translate

import (
	"cmp"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// streamOut is the result for a TCPRoute, TLSRoute or UDPRoute: its backends and settings, and where it
// attaches to listeners.
type streamOut struct {
	Attach *attachOut
	*route.StreamFlat
	// Clients has the client certificate of each Gateway that presents one to backends: "namespace/name" of the
	// Secret.
	Clients map[string]string
	// Uses says how much of each policy is effective.
	Uses []policy.Use
	// Policies are the merged policies of the route, nil if it has none, or if they refuse all connections.
	Policies *policy.Resolved
}

type streamIn struct {
	*spreadRules
	aims     targetRules
	policies *memo.Rule[ruleKey, *levelOut]
	*gatewayRules
	backend *memo.Rule[backend.Reference, backend.Resolution]
	routes  *objects
}

// streamRules read TCPRoutes, TLSRoutes and UDPRoutes.
type streamRules struct {
	in      streamIn
	stream  *memo.Rule[manifest.Key, *streamOut]
	streams *memo.Fold[portKey, manifest.Key, *listen.Claimant, ordered.Set[*listen.Claimant]]
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
	r.streams = memo.NewFold[portKey, manifest.Key](e, "streams", gather[manifest.Key](compareClaimants), ordered.Set[*listen.Claimant].Same)
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

// places returns, by port, each listen.Place of the route once, sorted.
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

// runStream returns the result for a TCPRoute, TLSRoute or UDPRoute. The result is empty if the route does not
// exist.
func (r *streamRules) runStream(c *memo.Ctx, key manifest.Key) *streamOut {
	object, ok := r.in.routes.Get(c, key)
	if !ok {
		return &streamOut{Attach: &attachOut{}, StreamFlat: &route.StreamFlat{}}
	}
	attach, _ := r.in.where(c, key) // such a route has no rule that answers 500 for its copies
	out := &streamOut{Attach: attach, StreamFlat: route.Stream(object, func(ref gwv1.BackendObjectReference, _ bool) backend.Resolution {
		return r.in.backend.Get(c, streamRefer(key, ref))
	}), Clients: map[string]string{}}
	r.admit(c, key, out)
	for _, parent := range out.Attach.Parents {
		if client := r.in.clientOf(c, parent.Gateway); client != "" {
			out.Clients[parent.Gateway] = client
		}
	}
	return out
}

// admit sets which clients the policies of a TCP, TLS or UDP route allow, and how much of each policy is effective.
func (r *streamRules) admit(c *memo.Ctx, key manifest.Key, out *streamOut) {
	if !r.in.aims.any(c, key) {
		return
	}
	level := r.in.policies.Get(c, ruleKey{Route: key})
	resolved := policy.Resolve([]policy.Level{level.Level})
	out.Route.Access, out.Uses = accessOf(&resolved, level.Closed), resolved.Uses
	if level.Closed == nil {
		out.Policies = &resolved
	}
}

// accessOf returns which clients may connect by the merged policies (resolved). If closed is set, no client may
// connect. If closed is nil and the policies have no acl, the result is nil: every client may connect.
func accessOf(resolved *policy.Resolved, closed *closing) *ir.Access {
	if closed != nil {
		return &ir.Access{Closed: closed.Why, Parts: []ir.Part{closed.At}}
	}
	own := resolved.Only(policy.ForStreams)
	acl := own.Extras().OrNone().ACL
	if acl == nil {
		return nil
	}
	return &ir.Access{ACL: acl, Parts: policyParts(own.Origins)}
}

// backendsAt returns the keys of the clusters that the route uses at one place of a Gateway (the parameter at). The
// parameter gateway is "namespace/name". If Envoy passes the client's TLS through at this place (at.Raw), Envoy
// starts no TLS of its own to these clusters. Otherwise, except for UDP, Envoy presents the Gateway's client
// certificate to these clusters if it starts TLS. The function renameClusters writes the names of these clusters into
// the listener.
func (s *streamOut) backendsAt(gateway string, at listen.Place) []*backend.Key {
	switch {
	case at.UDP:
		return s.Backends
	case !at.Raw:
		return shownBackends(s.Clients[gateway], s.Backends)
	}
	return backend.Changed(s.Backends, func(to *backend.Key) { to.Raw = true })
}

// streamRefer returns the reference of a TCPRoute, TLSRoute or UDPRoute to a backend.
func streamRefer(from manifest.Key, ref gwv1.BackendObjectReference) backend.Reference {
	out := backend.Refer(from, ref)
	out.UDP = from.Kind == "UDPRoute"
	return out
}
