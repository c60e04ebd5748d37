package server

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/figures"
	"github.com/gatefold/gatefold/store/manifest"
)

// staging judges what canaries answer, and promotes revisions.
type staging struct {
	*lock
	options    Staging
	verdicts   *verdicts
	quarantine *quarantine
	log        zerolog.Logger
	metrics    *figures.Set
	changed    chan struct{}      // capacity 1: there is something to judge
	asked      chan chan struct{} // each to be closed when what it came after is judged and reported

	// sums are the parts of promoted tables that were looked at; of the goroutine of run.
	sums map[*delta.Entry]map[[sha256.Size]byte]bool
	// told and saved are what Staging was told last; of the goroutine of run.
	told  []manifest.Problem
	saved []Fleet
	// reporters counts the streams of Envoys that report how requests end. It is guarded by lock.
	reporters map[reporter]int
}

func newStaging(options Staging, verdicts *verdicts, rejected *quarantine, log zerolog.Logger, counted *figures.Set) *staging {
	options.Absence = cmp.Or(options.Absence, DefaultAbsence)
	options.interval = cmp.Or(options.interval, ReportInterval)
	return &staging{
		lock: rejected.lock, options: options, verdicts: verdicts, quarantine: rejected, log: log, metrics: counted,
		changed: make(chan struct{}, 1), asked: make(chan chan struct{}), saved: options.Fleets, sums: map[*delta.Entry]map[[sha256.Size]byte]bool{},
		reporters: map[reporter]int{},
	}
}

// poke has fleets judged soon.
func (s *staging) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// abandon gives a fleet that has had no canary for long all that is pending, and ends its stage.
func (s *staging) abandon(c *scope) {
	s.log.Warn().Str("fleet", c.fleet()).Stringer("absence", s.options.Absence).
		Msg("no Envoy of stage canary is connected: revisions go to all Envoys of the fleet at once until one connects")
	if c.stage.waits() {
		s.force(c, "unjudged")
	}
	c.unstage()
}

// force promotes all that a fleet is to wait for.
func (s *staging) force(c *scope, result string) {
	of := c.stage
	c.split()
	of.unripen()
	s.promote(c, of.pending, "a revision goes to all Envoys of a fleet without the answer of canaries", result)
	of.pending, of.lasting, of.failed = batch{newBatch().entries, of.pending.revision}, false, nil
	clear(of.left)
	s.settle(c)
}

// promoteAll promotes all that fleets wait for, because a person asks for it.
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

// promote has all Envoys of a fleet hold what a batch has.
func (s *staging) promote(c *scope, b batch, words, result string) {
	for st := range c.others {
		st.revision = s.verdicts.heldBy(st)
	}
	changed := c.stage.take(b)
	c.stage.revision = b.revision
	c.release(changed)
	s.metrics.Staged(result)
	s.quarantine.poke()
	s.log.Info().Str("fleet", c.fleet()).Uint64("revision", b.revision).Int("resources", len(b.entries)).Int("envoys", len(c.streams)-len(c.canaries)).Msg(words)
}

// settle has what depends on the promoted revision judged.
func (s *staging) settle(c *scope) {
	if c.stage.waits() {
		c.stage.since = time.Now()
	}
	s.verdicts.touched[c] = struct{}{}
	s.verdicts.restate(c)
}

// set makes a verdict the fleet's, and logs what is new.
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

// reading is work on what is never changed. It is done without the lock.
type reading func()

// sum has the parts of a table looked at.
func (s *staging) sum(e *delta.Entry) reading { return func() { s.sums[e] = sumsOf(e) } }

// frozenBy is the verdict on a revision that does not go on to the others.
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

// reporter names an Envoy that reports.
type reporter struct{ node, cluster string }

func reporterOf(st *stream) reporter { return reporter{st.node, st.cluster} }

// count adds the reports of a canary to what is counted of a soaking revision. A report that began before the canaries
// accepted the revision is of another one too, and is left out.
func (s *staging) count(from *stream, reports []*endpointv3.ClusterStats, now time.Time) {
	s.locked(func() {
		c := s.verdicts.union
		if from.cluster != "" && s.verdicts.scopes[from.cluster] != nil {
			c = s.verdicts.scopes[from.cluster]
		}
		if c.stage == nil || c.stage.soaking == nil {
			return
		}
		c.stage.soaking.add(reports, now)
	})
	s.poke()
}
