package translate

import (
	"fmt"
	"net"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// clusterOut is what Envoy needs to reach a backend.
type clusterOut struct {
	Cluster    xds.Resource
	Assignment *xds.Resource // nil when the endpoints are inside the cluster
	Source     *ir.Cluster   // what both encode
	Problems   []manifest.Problem
}

func (o *clusterOut) cluster() *xds.Resource {
	if o == nil {
		return nil
	}
	return &o.Cluster
}

func (o *clusterOut) assignment() *xds.Resource {
	if o == nil {
		return nil
	}
	return o.Assignment
}

func (o *clusterOut) problems() []manifest.Problem {
	if o == nil {
		return nil
	}
	return o.Problems
}

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
	Options
}

// clusterRules make the clusters, and find the Gateways that need them.
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

// usesOf yields the backends that a route needs at each of its Gateways.
func usesOf(key manifest.Key, m *mountOut, yield func(memo.Place[useKey, flatKey], struct{})) {
	seen := map[useKey]bool{}
	m.tables(func(table tableKey, flat *flatOut) {
		eachUse(table, shownBackends(m.placed.Clients[table.Gateway], flat.Backends), seen, func(use useKey) {
			yield(memo.Place[useKey, flatKey]{Key: use, ID: flatKey{Route: key}}, struct{}{})
		})
	})
}

// graftUses yields the backends that a node below a root needs at Gateways.
func graftUses(key flatKey, g *graftOut, yield func(memo.Place[useKey, flatKey], struct{})) {
	seen := map[useKey]bool{}
	for _, table := range g.Tables {
		eachUse(table, shownBackends(g.placed.Clients[table.Gateway], g.Backends), seen, func(use useKey) {
			yield(memo.Place[useKey, flatKey]{Key: use, ID: key}, struct{}{})
		})
	}
}

// hostUses yields the backends of external services that the policies of a Gateway or listener
// call. The listener takes the place of the node in the member's key.
func hostUses(key listenerKey, p *hostPolicy, yield func(memo.Place[useKey, flatKey], struct{})) {
	eachUse(tableKey{chainKey: chainKey{portKey: portKey{Gateway: key.Gateway}}}, p.Backends, map[useKey]bool{}, func(use useKey) {
		yield(memo.Place[useKey, flatKey]{Key: use, ID: flatKey{Route: ir.GatewayKey(key.Gateway), Via: key.Listener}}, struct{}{})
	})
}

func eachUse(table tableKey, backends []*backend.Key, seen map[useKey]bool, yield func(useKey)) {
	for _, to := range backends {
		if use := (useKey{table.Gateway, *to}); !seen[use] {
			seen[use] = true
			yield(use)
		}
	}
}

// runCluster returns nil for a backend that does not exist any more. Rules that refer to it change
// before the end of the flush.
func (r *clusterRules) runCluster(c *memo.Ctx, key backend.Key) *clusterOut {
	if route.IsStream(key.Object) {
		return r.runBlend(c, key)
	}
	if key.Object.Kind == api.KindGatewayExtension {
		return nil // its requirement is what is sent: see requirementRules
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

// encodeCluster encodes a cluster with the fields that policies set for the backend. port is the
// name of the backend's port.
func (r *clusterRules) encodeCluster(c *memo.Ctx, key backend.Key, port string, cluster *ir.Cluster) *clusterOut {
	cluster.HTTP2 = cluster.HTTP2 || key.GRPC
	problems := append(r.sift(c, cluster), r.in.configOf(c, key.Object).Apply(cluster)...)
	if policy := r.in.tlsOf(c, key.Object, port); policy != nil && !key.UDP && !key.Raw {
		policy.Apply(cluster, key.Client)
	}
	return newCluster(cluster, problems)
}

func newCluster(cluster *ir.Cluster, problems []manifest.Problem) *clusterOut {
	out := &clusterOut{Cluster: xds.Cluster(cluster), Source: cluster, Problems: problems}
	if assignment, ok := xds.Assignment(cluster); ok {
		out.Assignment = &assignment
	}
	return out
}

// sift removes endpoints that must not be used from a cluster. It returns a problem for each, at
// the endpoint's field.
func (r *clusterRules) sift(c *memo.Ctx, cluster *ir.Cluster) []manifest.Problem {
	var problems []manifest.Problem
	refused := r.in.Guard.Sift(cluster)
	for _, endpoint := range refused[:min(len(refused), maxRejectedEndpoints)] {
		at := net.JoinHostPort(endpoint.Host, fmt.Sprint(endpoint.Port))
		problem := manifest.Problem{
			Code: "EndpointRefused", Severity: manifest.Error, Object: cluster.Objects[0],
			Message: fmt.Sprintf("%s is no place for requests: it is where gatefold or Envoy is steered, or where a cloud gives out credentials", at),
			Hint:    "send to another address; if this is meant, start gatefold with --allow-endpoints " + at,
		}
		for _, key := range cluster.Objects {
			if field := r.in.fieldOf(c, key, endpoint); field != "" {
				problem.Object, problem.Field = key, field
				break
			}
		}
		problems = append(problems, problem)
	}
	return problems
}

// maxRejectedEndpoints bounds the problems of one cluster.
const maxRejectedEndpoints = 20

// streamUses yields the backends that a route of streams needs at each of its Gateways.
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

// runBlend returns the cluster of a UDPRoute. The clusters of its single backends are not sent to
// any Envoy.
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
