package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// answerTime is how long canaries may take to answer before the revision is frozen.
const answerTime = time.Minute

// maxSums limits staging.sums, which has the hashes of promoted route tables and filters. If sums has more entries
// when a review starts, all of them are dropped, to save memory.
const maxSums = 16

// run judges the answers of canaries in all fleets, and then calls report. It does so after each change, when a
// waiting time is over, and when awaitReport requests it. It returns when ctx ends.
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
			return // canaries disconnect because gatefold stops
		}
		s.report()
		if asked != nil {
			close(asked)
		}
		timer.Reset(again)
	}
}

// review judges the answers of canaries in all fleets that have canaries. The result is how long the caller waits
// until the next review.
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
		for _, read := range unread { // others can lock meanwhile
			read()
		}
	}
}

// judgeAll judges the answers of canaries in each fleet that has canaries. It returns the time until the next call
// (pause). If unread is not empty, the caller must not wait. It calls each function in unread without holding the
// lock, and then calls judgeAll at once.
func (s *staging) judgeAll(now time.Time) (pause time.Duration, unread []reading) {
	pause = time.Hour
	for _, c := range s.verdicts.all() {
		if c.stage == nil {
			continue
		}
		for {
			wait, needs, moved := s.judge(c, now)
			pause, unread = min(pause, wait), append(unread, needs...)
			if !moved || c.stage == nil {
				break
			}
		}
	}
	s.verdicts.judgeTouched()
	return pause, unread
}

// judge decides whether the revision of one fleet is promoted, frozen, or still waits for canaries, and stores the
// decision. In these two cases, the caller must call judge once more, without a wait:
//   - unread is not empty. judge cannot decide yet. The caller first calls each function in unread, without holding
//     the lock.
//   - moved is true. There may be more to decide, because judge did one of two things: it promoted changes, or it
//     started the soak time of the pending changes, which all canaries accepted (startSoak).
//
// In all other cases, the caller calls judge again after the time pause, or earlier.
func (s *staging) judge(c *scope, now time.Time) (pause time.Duration, unread []reading, moved bool) {
	pause, of := time.Hour, c.stage
	if !of.waits() { // every change was promoted or undone
		of.lasting, of.failed = false, nil
		clear(of.left)
	}
	bounded := of.soaking != nil && s.options.MaxErrors > 0
	switch {
	case len(c.canaries) == 0:
		return s.judgeAbsence(c, now), nil, false
	case !of.waits():
		s.set(c, stageVerdict{state: delivered})
		return pause, nil, false
	case bounded && of.soaking.watched == nil:
		return pause, []reading{s.watch(c)}, false
	}
	end := of.soaking != nil && now.Sub(of.soaking.since) >= s.options.Wait
	if bounded {
		if failed := of.soaking.overBound(s.options.MaxErrors, end); failed != nil {
			s.fail(c, failed)
			return pause, nil, false
		}
	}
	switch {
	case end:
		s.promote(c, of.soaking.Snapshot, of.soaking.revision, "the canaries of a fleet accepted a revision: it goes to the other Envoys", "promoted")
		s.settle(c)
		return pause, nil, true
	case of.soaking != nil:
		pause = of.soaking.since.Add(s.options.Wait).Sub(now)
	}
	if of.soaks() {
		s.set(c, stageVerdict{state: soaks})
		return pause, nil, false
	}
	verdict, wait, unread := s.opinion(c, now)
	switch {
	case len(unread) > 0:
		return pause, unread, false
	case verdict.state == soaks && of.soaking == nil:
		c.startSoak(now)
		of.lasting, of.failed = false, nil
		clear(of.left)
		return pause, nil, true
	}
	s.set(c, verdict)
	return min(pause, wait), unread, false
}

// opinion returns what the connected canaries say about the pending changes. The first of these rules that fits gives
// the state:
//   - frozen, if a canary rejected the changes, or disconnected before it accepted them;
//   - frozen, if a change that made too many requests fail before is still among the pending changes (stillFails);
//   - soaks, if all canaries accepted the changes and, if Staging.MaxErrors is set, all of them report loads;
//   - judging, while the canaries still have time to answer (answerTime);
//   - frozen, because the canaries did not answer in this time.
//
// opinion also returns the time until the state may change (pause). As long as unread is not empty, the state is not
// certain: the caller must first call the functions in unread.
func (s *staging) opinion(c *scope, now time.Time) (verdict stageVerdict, pause time.Duration, unread []reading) {
	of := c.stage
	busy := ""
	var blames []*blame
	for st := range c.canaries {
		found, needs := s.blamesOf(c, st)
		switch {
		case !st.state.Idle:
			busy = max(busy, cmp.Or(st.node, st.peer))
		case len(found)+len(needs) > 0:
			blames, unread = append(blames, found...), append(unread, needs...)
		case !c.askedBy(st):
			busy = max(busy, cmp.Or(st.node, st.peer))
		}
	}
	slices.SortFunc(blames, compareBlames)
	still, needs := s.stillFails(c)
	unread = append(unread, needs...)
	mute := s.silentCanary(c)
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

// judgeAbsence judges a fleet without a connected canary. It freezes the revision in two cases: a canary disconnected
// before it accepted the revision, or a revision was frozen when the previous run of gatefold stopped. Otherwise a
// canary has the time Staging.Absence to connect. After that time, judgeAbsence ends the staged delivery (abandon).
// It returns the time until the next call (pause).
func (s *staging) judgeAbsence(c *scope, now time.Time) (pause time.Duration) {
	of := c.stage
	if of.gone.IsZero() { // for example, after a restart
		of.gone = now
	}
	switch left := of.gone.Add(s.options.Absence).Sub(now); {
	case len(of.left) > 0:
		away := slices.Min(slices.Collect(maps.Keys(of.left)))
		s.set(c, s.frozenBy(c, fmt.Sprintf("Envoy %q of stage canary disconnected before it accepted revision %d", away, of.newest())))
	case of.lasting && of.failed != nil:
		s.set(c, s.frozenBy(c, "Too many requests had failed on canaries when gatefold stopped, and none is connected since"))
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
