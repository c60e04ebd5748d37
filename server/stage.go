package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

// A fleet is the Envoys of one scope: those of a Gateway, or those of all Gateways. Where one of them
// is a canary (envoy.StageKey), what is published goes to the canaries first: their target is that of the
// scope, the newest. The others have a target of their own, which is promoted by staging
// (stagingjudge.go) when the canaries accepted. Both share every resource. docs/design/xds.md has the reasons.

// stage is what a scope has beside its newest target. It is guarded by lock.
type stage struct {
	// promoted is what Envoys that are no canaries are to hold. It is nil while they are withheld: what
	// they hold is of a process before, and not known.
	promoted *delta.Target
	// withheld is true while those are sent nothing: see restoredStage.
	withheld bool
	// pending is what canaries are to accept, and soaking what they accepted and is not promoted yet, as they are to
	// be on it for a while.
	pending batch
	soaking *soak
	// left are canaries, by node.id, that left before they accepted what is pending; true where something newer was
	// published since.
	left map[string]bool
	// lasting is true if the process before had not promoted what it served.
	lasting bool
	// uncounted is true if the process before had not yet counted how requests end of what it served. What of it is
	// new to the others is not known.
	uncounted bool
	// gone is when the last canary left; zero while one is connected, or nothing is known.
	gone time.Time
	// since is when the oldest of what is not promoted was published.
	since time.Time
	// failed is why what is pending is not promoted although canaries accepted it; nil where it is not known to fail.
	failed *Failure
	// revision is what the others hold while something is not promoted.
	revision uint64
	verdict  stageVerdict
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

// frozenCode is the code of the problem of a revision that canaries did not accept.
const frozenCode = "RevisionFrozen"

// newStage returns the stage of a scope whose first canary connects.
func newStage(promoted *delta.Target) *stage {
	return &stage{promoted: promoted, pending: newBatch(), left: map[string]bool{}}
}

// restoredStage returns the stage of a scope that had canaries in the process before. What the others hold
// is not known, and not taken from them: they are sent nothing before canaries accepted what there is.
func restoredStage(was Fleet) *stage {
	s := newStage(nil)
	s.withheld, s.lasting, s.uncounted = true, was.Unpromoted, was.Uncounted
	if was.Failed.Cluster != "" {
		s.failed = &was.Failed
	}
	return s
}

// put notes an update of the newest target. One that brings back what is promoted has nothing to wait for.
func (s *stage) put(u delta.Update) {
	if s.promoted == nil {
		return
	}
	key := batchKey{u.Gateway, u.Type, u.Name}
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

// soaks reports whether canaries accepted what is newest, and are on it for a while.
func (s *stage) soaks() bool { return s != nil && s.soaking != nil && len(s.pending.entries) == 0 }

// newest is the revision that canaries are to hold.
func (s *stage) newest() uint64 {
	if s.soaks() {
		return s.soaking.revision
	}
	return s.pending.revision
}

// ripen has what is pending, which canaries accepted, stay with them from now on.
func (s *stage) ripen(now time.Time) {
	s.soaking = &soak{batch: s.pending, since: now, counted: map[string]Requests{}}
	s.pending = batch{newBatch().entries, s.pending.revision}
}

// changes returns the resources that a soaking revision changes, and does not remove: all that there are where it is not
// known what it changes.
func (s *stage) changes() (out []change) {
	if s.uncounted {
		for _, typ := range []string{xds.ClusterType, xds.EndpointType, xds.RouteType} {
			for name := range s.promoted.Names(typ) {
				out = append(out, change{nil, s.promoted.Entry(typ, name)})
			}
		}
	}
	for key, e := range s.soaking.entries {
		if e != nil && s.promoted != nil {
			out = append(out, change{s.promoted.Form(key.gateway, key.typ, key.name), e})
		}
	}
	return out
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

// awaited returns the name of a canary that left before it accepted the newest; "" for none.
func (s *stage) awaited() string {
	for _, node := range slices.Sorted(maps.Keys(s.left)) {
		if !s.left[node] {
			return node
		}
	}
	return ""
}

// asProblem returns why a fleet is frozen as a problem of the object that is to blame, or else of a Gateway.
func (v stageVerdict) asProblem() manifest.Problem {
	p := manifest.Problem{Code: frozenCode, Severity: manifest.Error, Message: v.problem, Hint: v.hint, Object: v.field.Object, Field: v.field.Path}
	if namespace, name, ok := strings.Cut(v.gateway, "/"); ok && p.Object.IsZero() {
		p.Object, p.Field = manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}, "metadata.name"
	}
	return p
}
