package server

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// stageScope sets c.stage, the state of a fleet with canaries. A fleet is the Envoys of one scope. The Envoys that
// are connected have what is promoted. The caller calls stageScope before a canary joins the scope. If c.stage is
// already set, stageScope does nothing.
func (c *scope) stageScope() {
	if c.stage == nil {
		c.stage = newStage(c.Snapshot)
	}
}

// unstage ends the staged delivery of a fleet that has no canaries any more: it removes the fleet's stage. The
// caller has promoted all pending changes before. All later changes go to all Envoys of the fleet at once.
func (c *scope) unstage() {
	if c.stage.promoted != nil {
		retarget(c.others, c.stage.promoted, c.Snapshot)
	}
	c.stage = nil
}

// targetOf returns the target of a stream: the resources that its Envoy should have. A canary gets the newest
// snapshot. Every other Envoy gets the promoted one, or the newest if none is known to be promoted.
func (c *scope) targetOf(st *stream) *delta.Snapshot {
	if c.stage == nil || st.canary || c.stage.promoted == nil {
		return c.Snapshot
	}
	return c.stage.promoted
}

// accepted returns the newest snapshot that canaries accepted, nil if none is known.
func (s *stage) accepted() *delta.Snapshot {
	if s.soaking != nil {
		return s.soaking.Snapshot
	}
	return s.promoted
}

// compare finds what canaries have not accepted yet: what differs in content from the snapshot that they accepted.
func (c *scope) compare() {
	c.stage.pending = nil
	if from := c.stage.accepted(); from != nil {
		c.stage.pending = edits(from, c.Snapshot)
	}
}

// edits returns what differs in content between two snapshots.
func edits(from, to *delta.Snapshot) []delta.Change {
	all := slices.Concat(slices.Collect(maps.Values(from.Changes(to)))...)
	return slices.DeleteFunc(all, func(c delta.Change) bool { return sameForm(c.From, c.To) })
}

// startSoak is called after canaries accepted the newest snapshot. They serve it for Staging.Wait before it is
// promoted.
func (c *scope) startSoak(now time.Time) {
	if c.stage.promoted == nil { // after a restart: the other Envoys have what they are sent from now on
		c.stage.promoted = c.Snapshot
	}
	c.stage.soaking = &soak{Snapshot: c.Snapshot, revision: c.stage.published, since: now, counted: map[string]Requests{}}
	c.stage.pending = nil
}

// endSoak has canaries accept again what they accepted and serve, but is not promoted yet.
func (c *scope) endSoak() {
	c.stage.soaking = nil
	c.compare()
}

// others yields the streams of the scope that are not canaries.
func (c *scope) others(yield func(*stream) bool) {
	for st := range c.streams {
		if !st.canary && !yield(st) {
			return
		}
	}
}

// promote makes a snapshot the target of the Envoys that are not canaries. After a restart, these Envoys are sent
// nothing until the first promotion, which ends that wait.
func (c *scope) promote(to *delta.Snapshot, revision uint64) {
	from := cmp.Or(c.stage.promoted, to)
	c.stage.promoted, c.stage.revision, c.stage.soaking = to, revision, nil
	c.compare()
	for st := range c.others {
		if c.stage.withheld {
			st.Withhold(false)
		}
		st.poke() // it may have requested all of a type that has no promoted resource
	}
	retarget(c.others, from, to)
	c.stage.withheld, c.stage.uncounted = false, false
}

// holdsBack reports whether the newest form of a resource is not promoted yet, so that it is sent only to
// canaries.
func (c *scope) holdsBack(typ, name string) bool {
	if !c.stage.waits() {
		return false
	}
	return c.stage.promoted == nil || !sameForm(c.Entry(typ, name), c.promotedForm(typ, name))
}

// promotedForm returns a resource (by type and name) in the form in which the promoted target has it. The Envoys that
// are not canaries get this form. The result is nil if the promoted target lacks the resource, or if the scope has no
// promoted target.
func (c *scope) promotedForm(typ, name string) *delta.Entry {
	if c.stage.promoted == nil {
		return nil
	}
	return c.stage.promoted.Entry(typ, name)
}

// formsOf returns the versions of a cluster and of its endpoints in the newest target, which canaries are sent.
func (c *scope) formsOf(cluster string) Forms {
	version := func(typ string) string {
		if e := c.Entry(typ, cluster); e != nil {
			return e.Version
		}
		return ""
	}
	return Forms{version(xds.ClusterType), version(xds.EndpointType)}
}

// sameForm reports whether both entries are nil, or both have the same version.
func sameForm(a, b *delta.Entry) bool {
	return a == b || a != nil && b != nil && a.Version == b.Version
}

// joinStage adds the stream of a canary to the canaries of the scope, and a stage to the scope if it has none.
// It does nothing for other streams.
func (c *scope) joinStage(st *stream) {
	if st.canary {
		c.stageScope()
		c.canaries[st] = struct{}{}
		c.stage.gone = time.Time{}
		delete(c.stage.left, cmp.Or(st.node, st.peer))
	}
}

// maxLeft bounds how many disconnected canaries a fleet remembers: a client can choose any node.id.
const maxLeft = 100

// leaveStage removes a disconnected canary from the scope. For the stream of another Envoy it does nothing. If a
// revision is not promoted yet, that revision may have crashed the canary. So canaries must accept the revision
// again (endSoak), and the canary is added to c.stage.left, which has at most maxLeft canaries. Neither happens if
// another connected canary has the same node.id.
func (c *scope) leaveStage(st *stream, now time.Time) {
	if !st.canary {
		return
	}
	delete(c.canaries, st)
	if len(c.canaries) == 0 {
		c.stage.gone = now
	}
	again := func(o *stream) bool { return o.node == st.node }
	if !c.stage.waits() || slices.ContainsFunc(slices.Collect(maps.Keys(c.canaries)), again) {
		return
	}
	c.endSoak()
	if len(c.stage.left) < maxLeft {
		c.stage.left[cmp.Or(st.node, st.peer)] = false
	}
}

// askedBy reports whether the canary st has requested all route tables that the pending revision changes or adds.
// If not, the canary cannot have accepted these tables: Envoy requests the route tables of a listener only after it
// accepted the listener. If no revision was promoted yet (c.stage.promoted is nil), the canary must also have
// requested all other route tables of its Gateways. If the canary cannot bind a listener, the route tables of that
// listener count as requested (see stream.asks).
func (c *scope) askedBy(st *stream) bool {
	for _, change := range c.stage.pending {
		if to := change.To; to != nil && to.Type == xds.RouteType && !st.asks(to.Name) {
			return false
		}
	}
	return c.stage.promoted != nil || len(st.lacks) == 0
}

// fleet returns the name of the fleet for messages: the Gateway, or "all Gateways".
func (c *scope) fleet() string { return cmp.Or(c.name, "all Gateways") }

// anyGateway returns the Gateway at which the problem of a fleet is reported. For the fleet of all Gateways, that
// is the first Gateway by name whose resources the pending revision changes, or "" if the revision changes none.
func (c *scope) anyGateway() (gateway string) {
	if c.name != "" {
		return c.name
	}
	for _, change := range c.stage.pending {
		e := cmp.Or(change.To, change.From)
		for _, of := range []*delta.Snapshot{c.Snapshot, c.stage.accepted()} {
			for owner := range of.Owners(e.Type, e.Name) {
				if gateway == "" || owner < gateway {
					gateway = owner
				}
			}
		}
	}
	return gateway
}
