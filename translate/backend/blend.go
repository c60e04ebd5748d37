package backend

import (
	"cmp"
	"math"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// Part is one of the backends that Blend combines into one cluster.
type Part struct {
	// Cluster has the endpoints of the backend. It is nil if the reference could not be resolved.
	Cluster *ir.Cluster
	Weight  uint32
}

// blackHole returns an endpoint that drops datagrams: nothing can listen on port 0.
func blackHole(weight uint32) ir.Endpoint {
	return ir.Endpoint{Host: "127.0.0.1", Port: 0, Weight: weight}
}

// Blend returns one cluster with the endpoints of several backends, for routes that can send to one cluster
// only. The endpoints of a backend share the backend's weight. The share of a backend without endpoints goes to an
// address at which nothing listens (Gateway API, UDPRouteRule.backendRefs: "Packet drops must respect weight").
// Backends with weight 0 are left out. If no other backend has endpoints, the cluster has none.
func Blend(key Key, parts []Part) *ir.Cluster {
	cluster := &ir.Cluster{Name: key.Cluster(), Discovery: ir.EDS}
	total := uint64(0)
	for _, p := range parts {
		total += uint64(p.Weight)
	}
	dead := uint64(0)
	for _, p := range parts {
		switch {
		case p.Weight == 0:
			continue
		case p.Cluster == nil || len(p.Cluster.Endpoints) == 0:
			dead += uint64(p.Weight)
			continue
		case p.Cluster.Discovery == ir.DNS:
			cluster.Discovery = ir.DNS
		}
		cluster.Objects = append(cluster.Objects, p.Cluster.Objects...)
		each := share(p, total)
		for _, endpoint := range p.Cluster.Endpoints {
			endpoint.Weight = each
			cluster.Endpoints = append(cluster.Endpoints, endpoint)
		}
	}
	if dead > 0 && len(cluster.Endpoints) > 0 {
		cluster.Endpoints = append(cluster.Endpoints, blackHole(uint32(dead*scale(total))))
	}
	cluster.Endpoints = joined(cluster.Endpoints)
	return cluster
}

// scale returns the factor by which all weights are multiplied, so that a weight can be divided among many
// endpoints without becoming 0. The parameter total is the sum of the weights, which must not be 0. The sum of the
// products fits into 32 bits, as Envoy requires.
func scale(total uint64) uint64 { return math.MaxUint32 / 2 / total }

// share returns the weight of each endpoint of the backend p: the scaled weight of p (see scale), divided by the
// number of its endpoints that are not draining. The result is at least 1. The parameter total is the sum of the
// weights of all backends.
func share(p Part, total uint64) uint32 {
	live := uint64(0)
	for _, endpoint := range p.Cluster.Endpoints {
		if !endpoint.Draining {
			live++
		}
	}
	return uint32(max(1, uint64(p.Weight)*scale(total)/max(1, live)))
}

// joined sorts endpoints, and merges endpoints with equal address and port. The weight of a merged endpoint is
// the sum of the weights. It is draining only if all of the merged ones are.
func joined(endpoints []ir.Endpoint) []ir.Endpoint {
	slices.SortFunc(endpoints, func(a, b ir.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), ir.TrueFirst(!a.Draining, !b.Draining))
	})
	var out []ir.Endpoint
	for _, e := range endpoints {
		if last := len(out) - 1; last >= 0 && out[last].Host == e.Host && out[last].Port == e.Port {
			out[last].Weight += e.Weight
			continue
		}
		out = append(out, e)
	}
	return out
}
