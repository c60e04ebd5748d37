package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/server/figures"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

// Staging is how revisions go to fleets with canaries.
type Staging struct {
	// Wait is how long canaries are on a revision that they accepted before it goes on to the others.
	Wait time.Duration
	// MaxErrors is the share of requests, more than 0 and at most 1, that may fail with 5xx on canaries while they are on a
	// revision for Wait: of the requests to each cluster that it changes, or that routes it changes forward to. 0 is no bound.
	MaxErrors float64
	// Absence is how long a fleet waits for a canary that is away; 0 means DefaultAbsence.
	Absence time.Duration
	// Fleets are those that had canaries in the process before.
	Fleets []Fleet
	// Save, when set, is called when the next process should know other Fleets, one call at a time.
	Save func([]Fleet)
	// Problems, when set, is called when other fleets are frozen, one call at a time. It responds with a Publish.
	Problems func([]manifest.Problem)

	interval time.Duration // of reports; 0 means ReportInterval. For tests.
}

// DefaultAbsence is how long a fleet waits for a canary that is away.
const DefaultAbsence = time.Minute

// answerTime is how long canaries may take to answer before somebody should look at them.
const answerTime = time.Minute

// Fleet is a fleet with canaries, as it is kept for the next start.
type Fleet struct {
	// Gateway is "namespace/name", or "" for the Envoys of all Gateways.
	Gateway string `json:"gateway"`
	// Unpromoted is true if a revision was rejected by a canary, or lost one.
	Unpromoted bool `json:"unpromoted,omitempty"`
}

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

func newStaging(options Staging, parts *core) *staging {
	options.Absence = cmp.Or(options.Absence, DefaultAbsence)
	options.interval = cmp.Or(options.interval, ReportInterval)
	return &staging{
		lock: parts.lock, options: options, verdicts: parts.verdicts, quarantine: parts.quarantine, log: parts.log, metrics: parts.metrics,
		changed: make(chan struct{}, 1), asked: make(chan chan struct{}), saved: options.Fleets, sums: map[*delta.Entry]map[[sha256.Size]byte]bool{},
		reporters: map[reporter]int{},
	}
}

// maxSums is how many promoted tables are remembered between two looks at fleets.
const maxSums = 16

// poke has fleets judged soon.
func (s *staging) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// run judges fleets when something changed, until ctx ends.
func (s *staging) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var asked chan struct{}
		select {
		case <-s.changed:
		case asked = <-s.asked:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		again := s.review(time.Now())
		if ctx.Err() != nil {
			return // canaries leave because gatefold ends
		}
		s.report()
		if asked != nil {
			close(asked)
		}
		timer.Reset(again)
	}
}

// review judges all fleets with canaries. again is the time until it is to be called again.
func (s *staging) review(now time.Time) (again time.Duration) {
	if len(s.sums) > maxSums {
		clear(s.sums)
	}
	for {
		var unread []reading
		s.locked(func() { again, unread = s.judgeAll(now) })
		if len(unread) == 0 {
			return again
		}
		for _, read := range unread { // others have the lock meanwhile
			read()
		}
	}
}

// sumsOf returns the sums of the parts of a table or filter.
func sumsOf(e *delta.Entry) map[[sha256.Size]byte]bool {
	sums := map[[sha256.Size]byte]bool{}
	if e.Type == xds.FilterType {
		for _, r := range xds.Requirements(e.Body) {
			sums[r.Sum()] = true
		}
		return sums
	}
	for _, p := range xds.Pieces(e.Body) {
		sums[p.Sum()] = true
	}
	return sums
}

// judgeAll judges each fleet. unread is what is to be looked at first.
func (s *staging) judgeAll(now time.Time) (again time.Duration, unread []reading) {
	again = time.Hour
	for _, c := range s.verdicts.all() {
		if c.stage == nil {
			continue
		}
		for {
			wait, needs, promoted := s.judge(c, now)
			again, unread = min(again, wait), append(unread, needs...)
			if !promoted || c.stage == nil {
				break
			}
		}
	}
	s.verdicts.judgeTouched()
	return again, unread
}

// judge judges one fleet. promoted reports that something was promoted, and there may be more.
func (s *staging) judge(c *scope, now time.Time) (again time.Duration, unread []reading, promoted bool) {
	again, of := time.Hour, c.stage
	if !of.waits() { // all came to what is promoted
		of.lasting, of.failed = false, nil
		clear(of.left)
	}
	bounded := of.soaking != nil && s.options.MaxErrors > 0
	switch {
	case len(of.canaries) == 0:
		return s.judgeAbsence(c, now), nil, false
	case !of.waits():
		s.set(c, stageVerdict{state: delivered})
		return again, nil, false
	case bounded && of.soaking.watched == nil:
		return again, []reading{s.watch(c)}, false
	}
	end := of.soaking != nil && now.Sub(of.soaking.since) >= s.options.Wait
	if bounded {
		if failed := of.soaking.overBound(s.options.MaxErrors, end); failed != nil {
			s.fail(c, failed)
			return again, nil, false
		}
	}
	switch {
	case end:
		s.promote(c, of.soaking.batch, "the canaries of a fleet accepted a revision: it goes to the other Envoys", "promoted")
		of.soaking = nil
		s.settle(c)
		return again, nil, true
	case of.soaking != nil:
		again = of.soaking.since.Add(s.options.Wait).Sub(now)
	}
	if of.soaking != nil && len(of.pending.entries) == 0 {
		s.set(c, stageVerdict{state: soaks})
		return again, nil, false
	}
	verdict, wait, unread := s.opinion(c, now)
	switch {
	case len(unread) > 0:
		return again, unread, false
	case verdict.state == soaks && of.soaking == nil:
		c.split()
		of.ripen(now)
		of.lasting, of.failed = false, nil
		clear(of.left)
		return again, nil, true
	}
	s.set(c, verdict)
	return min(again, wait), unread, false
}

// opinion returns what the connected canaries make of what is pending: soaks when all accepted it.
func (s *staging) opinion(c *scope, now time.Time) (verdict stageVerdict, again time.Duration, unread []reading) {
	of := c.stage
	busy := ""
	var blames []*blame
	for st := range of.canaries {
		found, needs := s.blamesOf(c, st)
		switch {
		case !st.state.Idle:
			busy = max(busy, cmp.Or(st.node, st.peer))
		case len(found)+len(needs) > 0:
			blames, unread = append(blames, found...), append(unread, needs...)
		case !of.askedBy(st):
			busy = max(busy, cmp.Or(st.node, st.peer))
		}
	}
	slices.SortFunc(blames, compareBlames)
	still, needs := s.stillFails(c)
	unread = append(unread, needs...)
	mute := s.mute(c)
	switch away := of.awaited(); {
	case len(blames) > 0:
		return s.frozenFor(c, blames), time.Hour, unread
	case away != "":
		return s.frozenBy(c, fmt.Sprintf("Envoy %q of stage canary disconnected before it accepted revision %d", away, of.newest())), time.Hour, unread
	case still:
		return s.frozenForErrors(c), time.Hour, unread
	case busy == "" && mute == "":
		return stageVerdict{state: soaks}, time.Hour, unread
	}
	if left := of.since.Add(answerTime).Sub(now); left > 0 {
		return stageVerdict{state: judging}, left, unread
	}
	if busy == "" {
		return s.frozenBy(c, fmt.Sprintf("Envoy %q of stage canary does not report how requests end, which --stage-max-errors needs: print its bootstrap anew with gatefold bootstrap --stage canary", mute)), time.Hour, unread
	}
	return s.frozenBy(c, fmt.Sprintf("Envoy %q of stage canary has not answered for revision %d within %s", busy, of.newest(), answerTime)), time.Hour, unread
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

// judgeAbsence judges a fleet without a connected canary.
func (s *staging) judgeAbsence(c *scope, now time.Time) (again time.Duration) {
	of := c.stage
	if of.gone.IsZero() { // as after a restart
		of.gone = now
	}
	switch left := of.gone.Add(s.options.Absence).Sub(now); {
	case len(of.left) > 0:
		away := slices.Min(slices.Collect(maps.Keys(of.left)))
		s.set(c, s.frozenBy(c, fmt.Sprintf("Envoy %q of stage canary disconnected before it accepted revision %d", away, of.newest())))
	case of.lasting:
		s.set(c, s.frozenBy(c, "Canaries had not accepted the newest revision when gatefold stopped, and none is connected since"))
	case left > 0 && of.waits():
		s.set(c, stageVerdict{state: judging})
		return left
	case left > 0:
		s.set(c, stageVerdict{state: delivered})
		return left
	default:
		s.abandon(c)
	}
	return time.Hour
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
	s.log.Info().Str("fleet", c.fleet()).Uint64("revision", b.revision).Int("resources", len(b.entries)).Int("envoys", len(c.streams)-len(c.stage.canaries)).Msg(words)
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

// fleet names the fleet in messages: the Gateway, or "all Gateways".
func (c *scope) fleet() string { return cmp.Or(c.name, "all Gateways") }
