package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate"
)

// reviewEvery is the least time between two reviews of the parts that Envoys rejected.
const reviewEvery = 20 * time.Millisecond

// run decides again which parts are in quarantine, after each change and when a wait is over, until ctx ends.
// If the result has changed, it calls q.tell. It returns at once if q.tell is nil.
func (q *quarantine) run(ctx context.Context) {
	if q.tell == nil {
		return
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-q.changed:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		set, again := q.review(began)
		if set != nil {
			q.tell(set)
		}
		timer.Reset(again)
		select {
		case <-time.After(max(reviewEvery, 10*time.Since(began))): // others can lock meanwhile
		case <-ctx.Done():
			return
		}
	}
}

// reviewed is how many parts review looks at before it releases the lock for others.
const reviewed = 200

// review finds the parts that are in quarantine now. set is nil if they are the same as at the last review.
// again is how long the caller waits until the next review.
func (q *quarantine) review(now time.Time) (set translate.Quarantine, again time.Duration) {
	var keys []translate.RejectedPart
	changed, again := false, time.Hour
	q.locked(func() {
		changed, q.gaveUp = q.gaveUp, false
		keys = slices.AppendSeq(make([]translate.RejectedPart, 0, len(q.parts)), maps.Keys(q.parts))
	})
	set = translate.Quarantine{}
	for some := range slices.Chunk(keys, reviewed) {
		q.locked(func() {
			asking, touched := map[string][]*stream{}, map[*stream]struct{}{}
			for _, key := range some {
				of := q.parts[key]
				if of == nil { // dropped by room meanwhile
					changed = true
					continue
				}
				tell, wait := q.quarantines(of, asking, now)
				again = min(again, wait)
				if tell != of.told {
					changed, of.told = true, tell
					of.count(touched)
				}
				if tell {
					refusal := of.refusal()
					changed = changed || refusal != of.published && (of.known() || of.published.Lacks != "")
					set[key], of.published = refusal, refusal
				}
			}
			for st := range touched {
				q.verdicts.update(st)
			}
		})
	}
	if !changed {
		return nil, again
	}
	return set, again
}

// quarantines reports in tell whether a part is to be in quarantine. A part that Envoys are only too old for is
// in quarantine at once. Another part gets into quarantine after every connected Envoy that requests its route
// table rejected it, or had q.wait to answer. An Envoy that accepts the part prevents or ends the quarantine;
// an Envoy that has just connected does not. A part that only canaries rejected is not in quarantine (see
// staged). wait is the time until the result may change. asking caches the streams by table.
func (q *quarantine) quarantines(of *suspicion, asking map[string][]*stream, now time.Time) (tell bool, wait time.Duration) {
	if len(of.rejectedBy) == 0 || of.taken && !of.known() || !of.told && of.staged() {
		return false, time.Hour
	}
	rejecting := make(map[*stream]bool, len(of.rejectedBy))
	for _, st := range of.rejectedBy {
		rejecting[st] = true
	}
	all := true
	for at := range of.at {
		streams, known := asking[at.table]
		if !known {
			streams = q.askersOf(at.Part.Type(), at.table)
			asking[at.table] = streams
		}
		for _, st := range streams {
			of.taken = of.taken || st.Accepted(at.table, at.Part)
			all = all && rejecting[st]
		}
	}
	if of.known() {
		of.othersServe, of.taken = !all, false
		return true, time.Hour
	}
	if of.taken {
		return false, time.Hour
	}
	if wait = of.since.Add(q.wait).Sub(now); all || of.told || wait <= 0 {
		return true, time.Hour
	}
	return false, wait
}

// staged reports whether only canaries were sent the part and rejected it. Then it is not put in quarantine:
// staging freezes the revision instead, and reports that.
func (of *suspicion) staged() bool {
	for part, st := range of.rejectedBy {
		if part.Lack != nil || !st.canary || !st.scope.holdsBack(part.Type(), part.Table) {
			return false
		}
	}
	return true
}

// askersOf returns the streams that request a route table or filter. A stream may be in the result twice.
func (q *quarantine) askersOf(typ, table string) []*stream {
	streams := []*stream{}
	for gateway := range q.verdicts.union.Owners(typ, table) {
		for _, st := range q.verdicts.audience(gateway) {
			if st.Asks(typ, table) {
				streams = append(streams, st)
			}
		}
	}
	return streams
}

// count passes of.told, whether the part is in quarantine, to each stream that rejected the part. It adds these
// streams to the set streams: the caller must update their verdicts.
func (of *suspicion) count(streams map[*stream]struct{}) {
	for part, st := range of.rejectedBy {
		st.Quarantine(part, of.told)
		streams[st] = struct{}{}
	}
}
