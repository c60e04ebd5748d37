package server

import (
	"maps"
	"slices"
)

// gateways are what is served. It is guarded by lock.
type gateways struct {
	scopes map[string]*scope // by Gateway
	union  *scope            // all Gateways
}

func newGateways() *gateways {
	return &gateways{scopes: map[string]*scope{}, union: newScope("")}
}

// all returns the scopes of all Gateways, and their union.
func (g *gateways) all() []*scope {
	return append(slices.Collect(maps.Values(g.scopes)), g.union)
}

// scopeOf returns the scope of a Gateway, new when it is not there yet.
func (g *gateways) scopeOf(gateway string) *scope {
	c := g.scopes[gateway]
	if c == nil {
		c = newScope(gateway)
		g.scopes[gateway] = c
	}
	return c
}

// audience returns the streams that serve a Gateway.
func (g *gateways) audience(gateway string) []*stream {
	streams := slices.Collect(maps.Keys(g.union.streams))
	if c := g.scopes[gateway]; c != nil {
		streams = slices.AppendSeq(streams, maps.Keys(c.streams))
	}
	return streams
}

// served returns the Gateways that the stream serves.
func (g *gateways) served(st *stream) []*scope {
	if st.scope != g.union {
		return []*scope{st.scope}
	}
	return slices.Collect(maps.Values(g.scopes))
}
