package server

import (
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/server/delta"
)

// gateways has the scope of each Gateway (its resources, and the streams of its Envoys), and the union: the
// scope of the Envoys that serve all Gateways. gateways is guarded by lock.
type gateways struct {
	scopes map[string]*scope // by Gateway
	union  *scope            // the scope of the Envoys that serve all Gateways
	// revision is the number of the served revision, which pages and messages show (admin.RevisionList).
	revision uint64
	// restored has, by Gateway, the fleets that had canaries before gatefold restarted, until their scope is made.
	restored map[string]Fleet
}

// heldBy returns the newest revision that the Envoy of a stream has: the Envoy has answered every update of this
// revision. It may have rejected some of these updates.
func (g *gateways) heldBy(st *stream) uint64 {
	switch {
	case !st.state.Idle:
		return st.revision
	case !st.canary && st.scope.stage.waits():
		return st.scope.stage.revision
	}
	return g.revision
}

// keepRevision stores, for each stream of a scope (a Gateway, or all Gateways), the revision that the stream's Envoy
// has (see heldBy). It is called before the changes of a new revision are marked for sending. After the marking,
// streams are not idle, and heldBy can only return the stored revision.
func (g *gateways) keepRevision(c *scope) {
	for st := range c.streams {
		st.revision = g.heldBy(st)
	}
}

// newGateways returns a value of the type gateways that has a single scope, the field union. This is the scope of the
// Envoys that serve all Gateways. The scopes of single Gateways are added later (see scopeOf). The parameter fleets
// has the fleets that had canaries before gatefold restarted.
func newGateways(fleets []Fleet) *gateways {
	g := &gateways{scopes: map[string]*scope{}, restored: map[string]Fleet{}}
	for _, fleet := range fleets {
		g.restored[fleet.Gateway] = fleet
	}
	g.union = g.newScope("")
	return g
}

// newScope returns a new, empty scope for a Gateway. The parameter gateway is "" for the scope of all Gateways. If
// the fleet had canaries before gatefold restarted, newScope restores the state of the fleet (restoredStage).
func (g *gateways) newScope(gateway string) *scope {
	c := newScope(gateway)
	if fleet, ok := g.restored[gateway]; ok {
		c.stage = restoredStage(fleet)
		delete(g.restored, gateway)
	}
	return c
}

// all returns the scopes of all Gateways, and the union (the scope of the Envoys that serve all Gateways).
func (g *gateways) all() []*scope {
	return append(slices.Collect(maps.Values(g.scopes)), g.union)
}

// scopeOf returns the scope of a Gateway: its resources and streams. If there is none yet, scopeOf makes an empty
// one.
func (g *gateways) scopeOf(gateway string) *scope {
	c := g.scopes[gateway]
	if c == nil {
		c = g.newScope(gateway)
		g.scopes[gateway] = c
	}
	return c
}

// audience returns the streams of the Envoys that serve a Gateway: the Envoys of this Gateway alone, and the
// Envoys that serve all Gateways.
func (g *gateways) audience(gateway string) []*stream {
	streams := slices.Collect(maps.Keys(g.union.streams))
	if c := g.scopes[gateway]; c != nil {
		streams = slices.AppendSeq(streams, maps.Keys(c.streams))
	}
	return streams
}

// served returns the scopes of the Gateways that the stream's Envoy serves: the scope of one Gateway, or the scope of
// each Gateway if the Envoy serves all of them. The union is not in the result.
func (g *gateways) served(st *stream) []*scope {
	if st.scope != g.union {
		return []*scope{st.scope}
	}
	return slices.Collect(maps.Values(g.scopes))
}

// publish gives a scope the snapshot after the given updates, and its streams their new target: canaries alone, if
// the others have the promoted snapshot.
func (g *gateways) publish(c *scope, updates []delta.Update) {
	before, waited := c.Snapshot, c.stage.waits()
	c.Snapshot = before.With(updates...)
	if c.stage != nil && len(updates) > 0 {
		c.compare()
		c.stage.publish(g.revision, waited, time.Now())
	}
	g.keepRevision(c)
	if c.stage != nil && c.stage.promoted != nil {
		retarget(maps.Keys(c.canaries), before, c.Snapshot)
	} else {
		retarget(maps.Keys(c.streams), before, c.Snapshot)
	}
}
