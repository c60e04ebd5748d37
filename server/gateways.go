package server

import (
	"maps"
	"slices"
	"time"
)

// gateways are what is served. It is guarded by lock.
type gateways struct {
	scopes map[string]*scope // by Gateway
	union  *scope            // all Gateways
	// revision is the number of what is served, for people (admin.RevisionList).
	revision uint64
	// restored are the fleets that had canaries in the process before, by Gateway.
	restored map[string]Fleet
}

// heldBy returns the newest revision that the Envoy of a stream has acknowledged in full.
func (g *gateways) heldBy(st *stream) uint64 {
	switch {
	case !st.state.Idle:
		return st.revision
	case !st.canary && st.scope.stage.waits():
		return st.scope.stage.revision
	}
	return g.revision
}

// keepRevision notes which revision the idle streams of a scope hold, before something is published to them.
func (g *gateways) keepRevision(c *scope) {
	for st := range c.streams {
		st.revision = g.heldBy(st)
	}
}

func newGateways(fleets []Fleet) *gateways {
	g := &gateways{scopes: map[string]*scope{}, restored: map[string]Fleet{}}
	for _, fleet := range fleets {
		g.restored[fleet.Gateway] = fleet
	}
	g.union = g.newScope("")
	return g
}

// newScope returns the scope of a Gateway, with the stage that its fleet had before the start.
func (g *gateways) newScope(gateway string) *scope {
	c := newScope(gateway)
	if fleet, ok := g.restored[gateway]; ok {
		c.stage = restoredStage(fleet)
		delete(g.restored, gateway)
	}
	return c
}

// all returns the scopes of all Gateways, and their union.
func (g *gateways) all() []*scope {
	return append(slices.Collect(maps.Values(g.scopes)), g.union)
}

// scopeOf returns the scope of a Gateway, new when it is not there yet.
func (g *gateways) scopeOf(gateway string) *scope {
	c := g.scopes[gateway]
	if c == nil {
		c = g.newScope(gateway)
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

// announce marks the resources that changed in c for sending to its streams; if c.stage.promoted is set, for
// canaries only. waited is what c.stage.waits() returned before the change.
func (g *gateways) announce(c *scope, waited bool) {
	if c.stage != nil && len(c.changed) > 0 {
		c.stage.published(g.revision, waited, time.Now())
	}
	g.keepRevision(c)
	c.tell()
}
