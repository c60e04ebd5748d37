package translate

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// clusterOut is the configuration that Envoy needs for a backend.
type clusterOut struct {
	Cluster    xds.Resource
	Assignment *xds.Resource // nil if the cluster contains the endpoints
	Source     *ir.Cluster   // Cluster and Assignment are encoded from it
	Problems   []manifest.Problem
}

// cluster returns the Cluster, nil for a nil clusterOut.
func (o *clusterOut) cluster() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Cluster
}

// assignment returns the Assignment, nil for a nil clusterOut.
func (o *clusterOut) assignment() *xds.Resource {
	if o == nil {
		return nil
	}
	return o.Assignment
}

// problems returns the Problems, nil for a nil clusterOut.
func (o *clusterOut) problems() []manifest.Problem {
	if o == nil {
		return nil
	}
	return o.Problems
}

// sameCluster reports whether two values have the same resources, the same problems, and the same fields of
// Source that other rules read.
func sameCluster(a, b *clusterOut) bool {
	if a == nil || b == nil || (a.Assignment == nil) != (b.Assignment == nil) {
		return a == b
	}
	return sameResource(a.Cluster, b.Cluster) && (a.Assignment == nil || sameResource(*a.Assignment, *b.Assignment)) &&
		slices.Equal(a.Source.Objects, b.Source.Objects) && a.Source.Closed == b.Source.Closed && deepEqual(a.Source.TLS, b.Source.TLS) && deepEqual(a.Problems, b.Problems)
}

type clusterIn struct {
	*backendObjects
	*backendPolicyRules
	*tlsPolicyRules
	backend    *memo.Rule[backend.Reference, backend.Resolution]
	mount      *memo.Rule[manifest.Key, *mountOut]
	graft      *memo.Rule[flatKey, *graftOut]
	hostPolicy *memo.Rule[listenerKey, *hostPolicy]
	stream     *memo.Rule[manifest.Key, *streamOut]
	routes     *objects
	sockets    *memo.Fold[listen.Socket, manifest.Key, *listen.Listening, ordered.Set[*listen.Listening]]
	allowed    *memo.Rule[string, *tenancy.Backends]
	Guard      backend.Guard
}

// clusterRules build the clusters, and find the Gateways that need them.
type clusterRules struct {
	in      clusterIn
	uses    *memo.Fold[useKey, flatKey, struct{}, struct{}]
	cluster *memo.Rule[backend.Key, *clusterOut]
	push    *memo.Rule[useKey, *clusterOut]
}

func newClusterRules(e *memo.Engine, in clusterIn) *clusterRules {
	r := &clusterRules{in: in}
	r.uses = memo.NewFold[useKey, flatKey](e, "uses",
		func(struct{}, []memo.Member[flatKey, struct{}]) struct{} { return struct{}{} }, identical[struct{}])
	memo.From(r.uses, in.mount, usesOf, identical)
	memo.From(r.uses, in.graft, graftUses, identical)
	memo.From(r.uses, in.hostPolicy, hostUses, identical)
	memo.From(r.uses, in.stream, streamUses, identical)
	r.cluster = memo.NewRule(e, "cluster", r.runCluster, sameCluster)
	r.push = memo.NewRule(e, "push", func(c *memo.Ctx, key useKey) *clusterOut {
		return r.cluster.Get(c, key.Backend)
	}, identical)
	memo.Each(r.push, r.uses)
	return r
}

func (r *clusterRules) report(all *problemFold) {
	problemsFrom(all, "cluster", r.cluster, (*clusterOut).problems)
}

// usesOf yields the backends that a root route (key) needs at each of its Gateways. It yields a memo.Place for each
// of these backends: its Key is the pair of Gateway and backend, and its ID is the root route.
func usesOf(key manifest.Key, m *mountOut, yield func(memo.Place[useKey, flatKey], struct{})) {
	seen := map[useKey]bool{}
	m.tables(func(table tableKey, flat *flatOut) {
		eachUse(table, shownBackends(m.placed.Clients[table.Gateway], flat.Backends), seen, func(use useKey) {
			yield(memo.Place[useKey, flatKey]{Key: use, ID: flatKey{Route: key}}, struct{}{})
		})
	})
}

// graftUses yields the backends that a child route needs. The parameter key is the node of the child route in a
// delegation tree (see flatKey). Each backend is yielded once for each Gateway that has a virtual host with this
// node.
func graftUses(key flatKey, g *graftOut, yield func(memo.Place[useKey, flatKey], struct{})) {
	seen := map[useKey]bool{}
	for _, table := range g.Tables {
		eachUse(table, shownBackends(g.placed.Clients[table.Gateway], g.Backends), seen, func(use useKey) {
			yield(memo.Place[useKey, flatKey]{Key: use, ID: key}, struct{}{})
		})
	}
}

// hostUses yields the backends of external services, such as an authorization service, that Envoy calls because of
// the policies of a listener. It yields a memo.Place for each of these backends: its Key is the pair of Gateway and
// backend, and its ID identifies the listener. The functions usesOf and graftUses yield IDs of routes instead.
func hostUses(key listenerKey, p *hostPolicy, yield func(memo.Place[useKey, flatKey], struct{})) {
	eachUse(tableKey{chainKey: chainKey{portKey: portKey{Gateway: key.Gateway}}}, p.Backends, map[useKey]bool{}, func(use useKey) {
		yield(memo.Place[useKey, flatKey]{Key: use, ID: flatKey{Route: ir.GatewayKey(key.Gateway), Via: key.Listener}}, struct{}{})
	})
}

// eachUse yields a pair for each of the given backends: the backend, and the Gateway of the given virtual host
// (table). A pair that is already in seen is not yielded again; every yielded pair is added to seen.
func eachUse(table tableKey, backends []*backend.Key, seen map[useKey]bool, yield func(useKey)) {
	for _, to := range backends {
		if use := (useKey{table.Gateway, *to}); !seen[use] {
			seen[use] = true
			yield(use)
		}
	}
}

// runCluster returns the cluster of a backend, encoded for Envoy. For the key of a UDPRoute it returns the one
// cluster that combines all backends of the route (see runBlend). It returns nil if the backend does not exist,
// and for a GatewayExtension. If a Service or Backend is removed, the routes that refer to it are translated again in
// the same memo.Engine.Flush.
func (r *clusterRules) runCluster(c *memo.Ctx, key backend.Key) *clusterOut {
	if route.IsStream(key.Object) {
		return r.runBlend(c, key)
	}
	if key.Object.Kind == api.KindGatewayExtension {
		return nil // only its requirement is sent: see requirementRules
	}
	if key.Object.Group == api.Group {
		object, _ := r.in.staticBackends.Get(c, key.Object)
		if static, ok := manifest.As[*api.Backend](object); ok {
			return r.encodeCluster(c, key, "", backend.FromBackend(key, static))
		}
		return nil
	}
	service := r.in.service(c, key.Object)
	if service == nil {
		return nil
	}
	endpointSlices := r.in.endpointSlices(c, key.Object)
	out := r.encodeCluster(c, key, backend.PortName(service, key), backend.FromService(key, service, endpointSlices))
	out.Problems = append(out.Problems, backend.CheckEndpoints(key, service, endpointSlices)...)
	return out
}

// encodeCluster applies the policies of a backend (key) to the backend's cluster, and encodes the result. The
// parameter port is the name of the Service port, by which a BackendTLSPolicy can target the port. No
// BackendTLSPolicy applies to a cluster for UDP, or for TLS that Envoy passes through (Raw). Endpoints that get no
// requests are removed, with a problem (see sift).
func (r *clusterRules) encodeCluster(c *memo.Ctx, key backend.Key, port string, cluster *ir.Cluster) *clusterOut {
	cluster.HTTP2 = cluster.HTTP2 || key.GRPC
	problems := append(r.sift(c, key, cluster), r.in.configOf(c, key.Object).Apply(cluster)...)
	if policy := r.in.tlsOf(c, key.Object, port); policy != nil && !key.UDP && !key.Raw {
		policy.Apply(cluster, key.Client)
	}
	return newCluster(cluster, problems)
}

// newCluster encodes a cluster, and its endpoints if they are a separate resource.
func newCluster(cluster *ir.Cluster, problems []manifest.Problem) *clusterOut {
	out := &clusterOut{Cluster: xds.Cluster(cluster), Source: cluster, Problems: problems}
	if assignment, ok := xds.Assignment(cluster); ok {
		out.Assignment = &assignment
	}
	return out
}

// streamUses yields the backends that a TCPRoute, TLSRoute or UDPRoute needs at each of its Gateways.
func streamUses(key manifest.Key, s *streamOut, yield func(memo.Place[useKey, flatKey], struct{})) {
	seen := map[useKey]bool{}
	for at, places := range s.places() {
		for _, place := range places {
			eachUse(tableKey{chainKey: chainKey{portKey: at}}, s.backendsAt(at.Gateway, place), seen, func(use useKey) {
				yield(memo.Place[useKey, flatKey]{Key: use, ID: flatKey{Route: key}}, struct{}{})
			})
		}
	}
}

// runBlend returns the one cluster that Envoys get for a UDPRoute. The cluster has the endpoints of all backends of
// the route. Envoys do not get the clusters of the single backends for this route. If the route does not exist,
// runBlend returns nil.
func (r *clusterRules) runBlend(c *memo.Ctx, key backend.Key) *clusterOut {
	object, ok := r.in.routes.Get(c, key.Object)
	if !ok {
		return nil
	}
	var parts []backend.Part
	flat := route.Stream(object, func(ref gwv1.BackendObjectReference, _ bool) backend.Resolution {
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
