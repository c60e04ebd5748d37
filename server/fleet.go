package server

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// stageScope makes the scope one with a stage, before its first canary joins.
func (c *scope) stageScope() {
	if c.stage == nil {
		c.stage = newStage(c.Target) // which the others have
		c.Target = c.Target.Clone()
	}
}

// unstage ends the stage of a scope without canaries: all Envoys are to hold the newest.
func (c *scope) unstage() {
	if c.stage.promoted != nil {
		c.Target = c.stage.promoted // which the others have; it is the same
	}
	c.stage = nil
}

// split gives canaries a target of their own, where all had one.
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

// targetOf returns what a stream is to hold.
func (c *scope) targetOf(st *stream) *delta.Target {
	if c.stage == nil || st.canary || c.stage.promoted == nil {
		return c.Target
	}
	return c.stage.promoted
}

// others yields the streams that are no canaries.
func (c *scope) others(yield func(*stream) bool) {
	for st := range c.streams {
		if !st.canary && !yield(st) {
			return
		}
	}
}

// release sends what was promoted to the Envoys that are no canaries.
func (c *scope) release(changed map[string][]string) {
	for st := range c.others {
		if c.stage.withheld {
			st.Withhold(false)
		}
		for typ, names := range changed {
			st.mark(typ, names...)
		}
		st.poke() // it may have asked for all of a type that it is to hold nothing of
	}
	c.stage.withheld, c.stage.uncounted = false, false
}

// holdsBack reports whether canaries alone are sent the newest form of a resource.
func (c *scope) holdsBack(typ, name string) bool {
	if !c.stage.waits() {
		return false
	}
	return c.stage.promoted == nil || !sameForm(c.Entry(typ, name), c.promotedForm(typ, name))
}

// promotedForm returns the form of a resource that Envoys which are no canaries are to hold; nil where there is none, or
// it is not known.
func (c *scope) promotedForm(typ, name string) *delta.Entry {
	if c.stage.promoted == nil {
		return nil
	}
	return c.stage.promoted.Entry(typ, name)
}

// formsOf returns the newest forms of a cluster and of its endpoints.
func (c *scope) formsOf(cluster string) Forms {
	version := func(typ string) string {
		if e := c.Entry(typ, cluster); e != nil {
			return e.Version
		}
		return ""
	}
	return Forms{version(xds.ClusterType), version(xds.EndpointType)}
}

func sameForm(a, b *delta.Entry) bool {
	return a == b || a != nil && b != nil && a.Version == b.Version
}

// joinStage has a stream that opens take its part in the stage.
func (c *scope) joinStage(st *stream) {
	if st.canary {
		c.stageScope()
		c.canaries[st] = struct{}{}
		c.stage.gone = time.Time{}
		delete(c.stage.left, cmp.Or(st.node, st.peer))
	}
}

// maxLeft bounds how many canaries a fleet remembers that left: a client can call itself anything.
const maxLeft = 100

// leaveStage notes that a canary left. What it had not accepted may be why.
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
	c.stage.unripen()
	if len(c.stage.left) < maxLeft {
		c.stage.left[cmp.Or(st.node, st.peer)] = false
	}
}

// askedBy reports whether a canary asks for all tables that are new to it. It asks for those of a listener
// after it accepted the listener.
func (c *scope) askedBy(st *stream) bool {
	for key, e := range c.stage.pending.entries {
		if key.typ == xds.RouteType && e != nil && !st.asks(key.name) {
			return false
		}
	}
	return c.stage.promoted != nil || len(st.lacks) == 0
}

// fleet names the fleet in messages: the Gateway, or "all Gateways".
func (c *scope) fleet() string { return cmp.Or(c.name, "all Gateways") }

// anyGateway returns the Gateway that the problem of a fleet is reported at; "" where none is known.
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
