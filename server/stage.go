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

// A fleet is the Envoys of one scope: the Envoys of a Gateway, or the Envoys that serve all Gateways. If an
// Envoy of the fleet is a canary (envoy.StageKey), a new revision goes to the canaries first. So a fleet has up to
// three snapshots: the newest (scope.Snapshot), which canaries are sent; the one that canaries accepted and serve for a
// while (soaking); and the promoted one, which the others are sent. staging (stagingjudge.go) moves a revision on.
// docs/design/xds.md has the reasons.

// stage is the state of a fleet with canaries. It is guarded by lock.
type stage struct {
	// promoted is the target of the Envoys that are not canaries. After a restart, the current resources of these
	// Envoys are not known: promoted is nil until canaries accept a revision, or a revision is promoted without them.
	promoted *delta.Snapshot
	// withheld is true while the Envoys that are not canaries are sent nothing (see restoredStage).
	withheld bool
	// soaking is what canaries accepted and serve for a while before the promotion; nil if there is nothing.
	soaking *soak
	// pending are the changes of the newest snapshot that canaries have not accepted yet (see compare), and published
	// is its revision.
	pending   []delta.Change
	published uint64
	// left has the canaries that disconnected while a revision was not promoted, and did not connect again. The key
	// is the node.id, or the address if there is none. The value is true if a newer revision was published since.
	// The map is emptied when canaries accept the changes in pending, or when everything is promoted.
	left map[string]bool
	// lasting is true while a revision stays frozen after a restart (see the constant frozen, and Fleet.Unpromoted).
	// lasting becomes false when canaries accept a revision, or when all changes are promoted or undone.
	lasting bool
	// uncounted is true if gatefold restarted while a revision was not promoted, and the failed requests of the
	// canaries (Staging.MaxErrors) must still be counted for this revision. After the restart, it is not known what
	// the revision changes.
	uncounted bool
	// gone is when the last canary disconnected; zero while one is connected, or if that is not known.
	gone time.Time
	// since is when the oldest change that is not promoted was published, or the time of the last promotion if
	// that is later. Canaries have answerTime from then on.
	since time.Time
	// failed is the reason why pending is not promoted, if too many requests failed; nil otherwise.
	failed *Failure
	// revision is the revision that the Envoys other than canaries have, while a newer one is not promoted.
	revision uint64
	verdict  stageVerdict
}

// stageVerdict is the state of a fleet, and the reason if it is frozen. Its zero value means that all Envoys
// get the newest revision.
type stageVerdict struct {
	state         stageState
	problem, hint string // why the revision is frozen, and what to do
	// field is the field that caused the problem: Envoy's resource for this field was rejected, or made requests
	// fail. The field has no object if the cause is not known.
	field   manifest.Field
	gateway string // the Gateway at which the problem is reported if field has no object; "" if none is known
}

// stageState is the state of a fleet as the pages show it.
type stageState string

// The states of a fleet with canaries.
const (
	delivered stageState = "delivered" // all Envoys get the newest revision
	judging   stageState = "judging"   // canaries have not answered yet, or none is connected
	soaks     stageState = "soaking"   // canaries accepted the revision, and serve it before it is promoted
	frozen    stageState = "frozen"    // not promoted until canaries accept it or a newer one, or a user promotes it
)

// frozenCode is the code of the problem that a revision is frozen.
const frozenCode = "RevisionFrozen"

// newStage returns the state of a fleet whose first canary connects. The parameter promoted is the snapshot that the
// Envoys have that are not canaries, or nil if that is not known.
func newStage(promoted *delta.Snapshot) *stage {
	return &stage{promoted: promoted, left: map[string]bool{}}
}

// restoredStage returns the state of a fleet that had canaries before gatefold restarted. After the restart, it
// is not known which resources the other Envoys of the fleet have. So they are sent nothing until the current
// revision is promoted.
func restoredStage(was Fleet) *stage {
	s := newStage(nil)
	s.withheld, s.lasting, s.uncounted = true, was.Unpromoted, was.Uncounted
	if was.Failed.Cluster != "" {
		s.failed = &was.Failed
	}
	return s
}

// publish records that a new revision was published. The parameter previous is the number of the revision before it. The
// parameter waited is true if that revision, or an older one, was still waiting to be promoted. If waited is false, the
// Envoys that are not canaries have the revision with the number previous, and the time for canaries to answer begins now.
func (s *stage) publish(previous uint64, waited bool, now time.Time) {
	if !waited {
		s.revision = previous
	}
	if !waited || s.since.IsZero() {
		s.since = now
	}
	s.published = previous + 1
	for node := range s.left {
		s.left[node] = true
	}
}

// waits reports whether a revision must still be promoted, that is, sent to the Envoys that are not canaries. It
// returns false if s is nil, because then the fleet has no canaries.
func (s *stage) waits() bool {
	return s != nil && (s.withheld || len(s.pending) > 0 || s.soaking != nil)
}

// soaks reports whether canaries accepted the newest revision, and serve it for a while before it goes to the
// other Envoys. It returns false if s is nil.
func (s *stage) soaks() bool { return s != nil && s.soaking != nil && len(s.pending) == 0 }

// newest returns the number of the revision that canaries are sent.
func (s *stage) newest() uint64 {
	if s.soaks() {
		return s.soaking.revision
	}
	return s.published
}

// changes returns the resources that the soaking revision sets, without those that it removes. The soaking
// revision is the one that canaries accepted and serve before it is promoted. If gatefold restarted meanwhile
// (s.uncounted), it is not known what the revision changes. Then the result also has all clusters, endpoints and
// route tables.
func (s *stage) changes() (out []delta.Change) {
	if s.uncounted {
		for _, typ := range []string{xds.ClusterType, xds.EndpointType, xds.RouteType} {
			for name := range s.promoted.Names(typ) {
				out = append(out, delta.Change{To: s.promoted.Entry(typ, name)})
			}
		}
	}
	for _, c := range edits(s.promoted, s.soaking.Snapshot) {
		if c.To != nil {
			out = append(out, c)
		}
	}
	return out
}

// awaited returns the name of a canary that disconnected before it accepted the newest revision. It returns ""
// if there is none.
func (s *stage) awaited() string {
	for _, node := range slices.Sorted(maps.Keys(s.left)) {
		if !s.left[node] {
			return node
		}
	}
	return ""
}

// asProblem returns the problem that the newest revision of a fleet is frozen. The problem is about the object of
// v.field. If v.field has no object, the problem is about the Gateway v.gateway. If v.gateway is "" too, the
// problem has no object.
func (v stageVerdict) asProblem() manifest.Problem {
	p := manifest.Problem{Code: frozenCode, Severity: manifest.Error, Message: v.problem, Hint: v.hint, Object: v.field.Object, Field: v.field.Path}
	if namespace, name, ok := strings.Cut(v.gateway, "/"); ok && p.Object.IsZero() {
		p.Object, p.Field = manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: namespace, Name: name}, "metadata.name"
	}
	return p
}
