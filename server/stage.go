package server

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

// A fleet is the Envoys of one scope: those of a Gateway, or those of all Gateways. Where one of them
// is a canary (envoy.StageKey), what is published goes to the canaries first: their target is that of the
// scope, the newest. The others have a target of their own, which is promoted by judge
// (staging.go) when the canaries accepted. Both share every resource. docs/design/xds.md has the reasons.

// stage is what a scope has beside its newest target. It is guarded by lock.
type stage struct {
	// promoted is what Envoys that are no canaries are to hold. It is nil while they are withheld: what
	// they hold is of a process before, and not known.
	promoted *delta.Target
	// withheld is true while those are sent nothing: see restoredStage.
	withheld bool
	canaries map[*stream]struct{}
	// pending is what canaries are to accept, and soaking what they accepted and is not promoted yet, as they are to
	// be on it for a while.
	pending batch
	soaking *soak
	// left are canaries, by node.id, that left before they accepted what is pending; true where something newer was
	// published since.
	left map[string]bool
	// lasting is true if the process before had not promoted what it served.
	lasting bool
	// gone is when the last canary left; zero while one is connected, or nothing is known.
	gone time.Time
	// since is when the oldest of what is not promoted was published.
	since time.Time
	// failed is why what is pending is not promoted although canaries accepted it; nil where it is not known to fail.
	failed *failure
	// revision is what the others hold while something is not promoted.
	revision uint64
	verdict  stageVerdict
}

// batch is what changes of a target, by name; a nil Entry is a removal.
type batch struct {
	entries  map[batchKey]*delta.Entry
	revision uint64 // with which it is complete
}

type batchKey struct{ gateway, typ, name string }

// soak is a batch that canaries accepted.
type soak struct {
	batch
	since time.Time
	// watched is nil until it is known which clusters are counted; counted is by cluster.
	watched watched
	counted map[string]requests
}

// stageVerdict says how things stand with a fleet; its zero value is that all Envoys are to hold the newest.
type stageVerdict struct {
	state stageState
	// problem says why it is frozen, and hint what to do; field is what a canary rejected, if that is why.
	problem, hint string
	field         manifest.Field
	gateway       string // that the problem is reported at without a field; "" for none
}

// stageState is the state of a fleet as it is shown.
type stageState string

// The states of a fleet with canaries.
const (
	delivered stageState = "delivered" // all Envoys are to hold the newest
	judging   stageState = "judging"   // canaries have not answered yet
	soaks     stageState = "soaking"   // canaries accepted, and stay on it for a while
	frozen    stageState = "frozen"    // somebody has to do something
)

// newStage returns the stage of a scope whose first canary connects.
func newStage(promoted *delta.Target) *stage {
	return &stage{promoted: promoted, canaries: map[*stream]struct{}{}, pending: newBatch(), left: map[string]bool{}}
}

// restoredStage returns the stage of a scope that had canaries in the process before. What the others hold
// is not known, and not taken from them: they are sent nothing before canaries accepted what there is.
func restoredStage(unpromoted bool) *stage {
	s := newStage(nil)
	s.withheld, s.lasting = true, unpromoted
	return s
}

func newBatch() batch { return batch{entries: map[batchKey]*delta.Entry{}} }

// put notes an update of the newest target. One that brings back what is promoted has nothing to wait for.
func (s *stage) put(u delta.Update) {
	if s.promoted == nil {
		return
	}
	key := batchKey{u.Gateway, u.Type, u.Name}
	if s.failed != nil && u.Name == s.failed.cluster && (u.Type == xds.ClusterType || u.Type == xds.EndpointType) {
		s.failed = nil // it may be well since
	}
	was := s.promoted.Form(u.Gateway, u.Type, u.Name)
	if s.soaking != nil {
		if e, soaking := s.soaking.entries[key]; soaking {
			was = e
		}
	}
	if was == u.Entry || was != nil && u.Entry != nil && was.Version == u.Entry.Version {
		delete(s.pending.entries, key)
		return
	}
	s.pending.entries[key] = u.Entry
}

// published notes that a revision is complete, which follows the one that is served.
func (s *stage) published(served uint64, waited bool, now time.Time) {
	if !waited {
		s.revision = served
	}
	if !waited || s.since.IsZero() {
		s.since = now
	}
	s.pending.revision = served + 1
	for node := range s.left {
		s.left[node] = true
	}
}

// waits reports whether Envoys that are no canaries are to wait for something.
func (s *stage) waits() bool {
	return s != nil && (s.withheld || len(s.pending.entries) > 0 || s.soaking != nil)
}

// newest is the revision that canaries are to hold.
func (s *stage) newest() uint64 {
	if s.soaking != nil && len(s.pending.entries) == 0 {
		return s.soaking.revision
	}
	return s.pending.revision
}

// ripen has what is pending, which canaries accepted, stay with them from now on.
func (s *stage) ripen(now time.Time) {
	s.soaking = &soak{batch: s.pending, since: now, counted: map[string]requests{}}
	s.pending = batch{newBatch().entries, s.pending.revision}
}

// unripen makes what is soaking pending again.
func (s *stage) unripen() {
	if s.soaking == nil {
		return
	}
	for key, e := range s.soaking.entries {
		if _, newer := s.pending.entries[key]; !newer {
			s.pending.entries[key] = e
		}
	}
	s.soaking = nil
}

// take puts a batch into the promoted target, and returns its names by type.
func (s *stage) take(b batch) map[string][]string {
	changed := map[string][]string{}
	for key, e := range b.entries {
		s.promoted.Put(delta.Update{Gateway: key.gateway, Type: key.typ, Name: key.name, Entry: e})
		changed[key.typ] = append(changed[key.typ], key.name)
	}
	for _, names := range changed {
		slices.Sort(names)
	}
	return changed
}

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
	for st := range c.stage.canaries {
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
	c.stage.withheld = false
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

func sameForm(a, b *delta.Entry) bool {
	return a == b || a != nil && b != nil && a.Version == b.Version
}

// joinStage has a stream that opens take its part in the stage.
func (c *scope) joinStage(st *stream) {
	if st.canary {
		c.stageScope()
		c.stage.canaries[st] = struct{}{}
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
	delete(c.stage.canaries, st)
	if len(c.stage.canaries) == 0 {
		c.stage.gone = now
	}
	again := func(o *stream) bool { return o.node == st.node }
	if !c.stage.waits() || slices.ContainsFunc(slices.Collect(maps.Keys(c.stage.canaries)), again) {
		return
	}
	c.stage.unripen()
	if len(c.stage.left) < maxLeft {
		c.stage.left[cmp.Or(st.node, st.peer)] = false
	}
}

// askedBy reports whether a canary asks for all tables that are new to it. It asks for those of a listener
// after it accepted the listener.
func (s *stage) askedBy(st *stream) bool {
	for key, e := range s.pending.entries {
		if key.typ == xds.RouteType && e != nil && !st.asks(key.name) {
			return false
		}
	}
	return s.promoted != nil || len(st.lacks) == 0
}
