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
// are connected keep their target, and the canaries get a copy of this target (c.Target). The caller calls stageScope
// before a canary joins the scope. If c.stage is already set, stageScope does nothing.
func (c *scope) stageScope() {
	if c.stage == nil {
		c.stage = newStage(c.Target) // the Envoys that are connected keep this target
		c.Target = c.Target.Clone()
	}
}

// unstage ends the staged delivery of a fleet that has no canaries any more: it removes the fleet's stage. The
// caller has promoted all pending changes before. All later changes go to all Envoys of the fleet at once.
func (c *scope) unstage() {
	if c.stage.promoted != nil {
		c.Target = c.stage.promoted // the connected streams have this target; it equals the newest
	}
	c.stage = nil
}

// split gives canaries and the other Envoys separate targets (sets of resources that an Envoy should have). The
// other Envoys keep the present target, which becomes c.stage.promoted and changes only by promotions. The
// canaries get a copy, which later updates change. If c.stage.promoted is already set, split does nothing.
func (c *scope) split() {
	if c.stage.promoted != nil {
		return
	}
	c.stage.promoted = c.Target
	c.Target = c.Target.Clone()
	for st := range c.canaries {
		st.Retarget(c.Target)
	}
}

// targetOf returns the target of a stream: the resources that its Envoy should have. A canary gets the newest
// target. Every other Envoy gets the promoted target, or the newest one if the scope has no promoted target.
func (c *scope) targetOf(st *stream) *delta.Target {
	if c.stage == nil || st.canary || c.stage.promoted == nil {
		return c.Target
	}
	return c.stage.promoted
}

// others yields the streams of the scope that are not canaries.
func (c *scope) others(yield func(*stream) bool) {
	for st := range c.streams {
		if !st.canary && !yield(st) {
			return
		}
	}
}

// release marks promoted resources to be sent to the Envoys that are not canaries. The parameter changed has the
// names of these resources by type. After a restart, these Envoys are sent nothing until the first promotion;
// release ends that wait.
func (c *scope) release(changed map[string][]string) {
	for st := range c.others {
		if c.stage.withheld {
			st.Withhold(false)
		}
		for typ, names := range changed {
			st.mark(typ, names...)
		}
		st.poke() // it may have requested all of a type that has no promoted resource
	}
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
	c.stage.endSoak()
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
	for key, e := range c.stage.pending.entries {
		if key.typ == xds.RouteType && e != nil && !st.asks(key.name) {
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
	for key := range c.stage.pending.entries {
		if gateway == "" || key.gateway < gateway {
			gateway = key.gateway
		}
	}
	return gateway
}
