package server

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/figures"
	"github.com/gatefold/gatefold/store/manifest"
)

// staging judges the answers of canaries. If the canaries accept a revision, staging promotes it: all Envoys of
// the fleet get the revision. If they do not accept it, staging freezes it: the other Envoys do not get the
// revision.
type staging struct {
	*lock
	options    Staging
	verdicts   *verdicts
	quarantine *quarantine
	log        zerolog.Logger
	metrics    *figures.Set
	changed    chan struct{}      // capacity 1: there is something to judge
	asked      chan chan struct{} // requests for a report: run closes each channel after the next report

	// sums has the hashes of the parts of promoted route tables and filters, as far as they were computed. Only
	// the goroutine of run uses it.
	sums map[*delta.Entry]map[[sha256.Size]byte]bool
	// told has the problems that were reported last, and saved has the fleets that were reported last. Only the
	// goroutine of run uses them.
	told  []manifest.Problem
	saved []Fleet
	// reporters counts the streams of each Envoy that reports loads. It is guarded by lock.
	reporters map[reporter]int
}

// newStaging returns a staging. Unset options get their defaults. The result shares the lock of the quarantine
// (the parameter rejected).
func newStaging(options Staging, verdicts *verdicts, rejected *quarantine, log zerolog.Logger, counted *figures.Set) *staging {
	options.Absence = cmp.Or(options.Absence, DefaultAbsence)
	return &staging{
		lock: rejected.lock, options: options, verdicts: verdicts, quarantine: rejected, log: log, metrics: counted,
		changed: make(chan struct{}, 1), asked: make(chan chan struct{}), saved: options.Fleets, sums: map[*delta.Entry]map[[sha256.Size]byte]bool{},
		reporters: map[reporter]int{},
	}
}

// poke requests that the goroutine of s.run judges the fleets soon, and returns at once.
func (s *staging) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// abandon ends the staged delivery to a fleet that has had no canary for Staging.Absence. It promotes the changes
// that were not promoted yet. Later revisions go to all Envoys of the fleet at once, until a canary connects.
func (s *staging) abandon(c *scope) {
	s.log.Warn().Str("fleet", c.fleet()).Stringer("absence", s.options.Absence).
		Msg("no Envoy of stage canary is connected: revisions go to all Envoys of the fleet at once until one connects")
	if c.stage.waits() {
		s.force(c, "unjudged")
	}
	c.unstage()
}

// force promotes all pending changes of the fleet c, without waiting for the answers of canaries. The parameter
// result is the label of the metric that counts the promotion.
func (s *staging) force(c *scope, result string) {
	of := c.stage
	s.promote(c, c.Snapshot, of.published, "a revision goes to all Envoys of a fleet without the answer of canaries", result)
	of.lasting, of.failed = false, nil
	clear(of.left)
	s.settle(c)
}

// promoteAll promotes, at the request of a user, the changes of all fleets that are not promoted yet. It does not
// wait for the answers of canaries.
func (s *staging) promoteAll() {
	s.locked(func() {
		for _, c := range s.verdicts.all() {
			if c.stage.waits() {
				s.force(c, "forced")
			}
		}
	})
	s.poke()
}

// promote makes a snapshot the target of the Envoys that are not canaries. The parameter words is the text of the log
// line, and result is the label of the metric.
func (s *staging) promote(c *scope, to *delta.Snapshot, revision uint64, words, result string) {
	for st := range c.others {
		st.revision = s.verdicts.heldBy(st)
	}
	count := len(edits(cmp.Or(c.stage.promoted, to), to))
	c.promote(to, revision)
	s.metrics.Staged(result)
	s.quarantine.poke()
	s.log.Info().Str("fleet", c.fleet()).Uint64("revision", revision).Int("resources", count).Int("envoys", len(c.streams)-len(c.canaries)).Msg(words)
}

// settle is called after a promotion in the fleet of c. It records that the verdict on the fleet's Gateway must
// be computed again. If a newer revision is not promoted yet, the time for canaries to answer begins now.
func (s *staging) settle(c *scope) {
	if c.stage.waits() {
		c.stage.since = time.Now()
	}
	s.verdicts.touched[c] = struct{}{}
	s.verdicts.restate(c)
}

// set stores the new state of the fleet c. If the state or its problem changed, set also records that the verdict
// on the fleet's Gateway must be computed again, and logs an ALARM if the new state is frozen.
func (s *staging) set(c *scope, now stageVerdict) {
	before := c.stage.verdict
	c.stage.verdict = now
	if now.state == before.state && now.problem == before.problem {
		return
	}
	s.verdicts.touched[c] = struct{}{}
	s.verdicts.restate(c)
	if now.state == frozen {
		s.metrics.Staged("frozen")
		s.log.Error().Str("fleet", c.fleet()).Msg("ALARM: staged delivery is frozen: " + now.problem + "; " + now.hint)
	}
}

// reading is work that takes long, such as hashing a route table. It reads only values that never change, so the
// caller does it without holding the lock.
type reading func()

// sum returns a function that the caller runs later (see reading). The function hashes the parts of e, which is a
// route table or a filter, and stores the hashes in s.sums.
func (s *staging) sum(e *delta.Entry) reading { return func() { s.sums[e] = sumsOf(e) } }

// frozenBy returns the verdict that the newest revision of the fleet c is frozen, with the message and what to
// do. The parameter why is the reason: a sentence without a full stop.
func (s *staging) frozenBy(c *scope, why string) stageVerdict {
	others := fmt.Sprintf("stay on revision %d", c.stage.revision)
	if c.stage.withheld {
		others = "keep what they have from before gatefold started"
	}
	return stageVerdict{
		state: frozen, gateway: c.anyGateway(),
		problem: fmt.Sprintf("%s. Revision %d is frozen: the other Envoys of %s %s", why, c.stage.newest(), c.fleet(), others),
		hint:    "fix or revert the edit: a revision that the canaries accept goes to all; gatefold reload --promote sends this one to all as it is",
	}
}

// reporter is the node.id and node.cluster of an Envoy that reports loads.
type reporter struct{ node, cluster string }

// reporterOf returns the reporter of a stream.
func reporterOf(st *stream) reporter { return reporter{st.node, st.cluster} }

// count adds the load reports of a canary to the request counts of the soaking revision. The canaries accepted this
// revision, and only canaries serve it until it is promoted. If no revision is soaking, nothing is counted. A report
// is left out if its interval began before the canaries accepted the revision.
func (s *staging) count(from *stream, reports []*endpointv3.ClusterStats, now time.Time) {
	if !from.canary {
		return // it was not asked for reports
	}
	s.locked(func() {
		c := s.verdicts.union
		if strings.Contains(from.cluster, "/") {
			c = s.verdicts.scopes[from.cluster]
		}
		if c == nil || c.stage == nil || c.stage.soaking == nil {
			return
		}
		c.stage.soaking.add(reports, now)
	})
	s.poke()
}
