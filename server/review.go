package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate"
)

// reviewEvery is the least time between two reviews, which decide which parts of route tables are in quarantine.
const reviewEvery = 20 * time.Millisecond

// run calls review after each change, and when the wait for answers of Envoys is over. review decides which parts of
// route tables and filters are in quarantine. If review returns a translate.Quarantine that is not nil, run passes it
// to q.tell. run returns when ctx ends. If q.tell is nil, run returns at once.
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

// reviewed is how many parts the method review handles before it releases the lock, so that others can lock.
const reviewed = 200

// review decides which parts are in quarantine now. The first result has these parts, each with the reason. It is nil
// if nothing changed since the last review. A change of a reason counts only if the old or the new reason is that
// Envoys are too old for the part. The second result is how long the caller waits until the next review.
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

// quarantines decides whether a part of a route table or filter is in quarantine. The suspicion describes the part,
// and its field rejectedBy has the Envoys that rejected the part or are too old for it. The first of these rules that
// applies decides:
//   - If rejectedBy is empty, the part is not in quarantine.
//   - If every Envoy in rejectedBy is too old for the part, the part is in quarantine at once.
//   - If an Envoy accepted the part, the part is not in quarantine.
//   - If the part is in quarantine already, it stays there.
//   - If the part was sent only to canaries (see staged), it is not in quarantine.
//   - If every connected Envoy that requests the table of the part is in rejectedBy, the part is in quarantine.
//   - If the first rejection is at least q.wait ago, the part is in quarantine.
//   - In all other cases, the part is not in quarantine.
//
// The first result is true if the part is in quarantine. The second result is the time until this may change. The
// parameter asking caches, for each table, the streams that request the table.
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

// staged reports whether a rejected part was sent only to canaries. It returns true if all of this is true for each
// Envoy in of.rejectedBy:
//   - The Envoy is a canary.
//   - The Envoy rejected the part itself, and is not just too old for the part.
//   - The newest form of the route table or filter with the part is not promoted yet, so that the other Envoys of the
//     fleet do not get it (scope.holdsBack).
//
// Such a part is not put in quarantine. Instead, the revision is frozen: it does not go to the other Envoys.
func (of *suspicion) staged() bool {
	for part, st := range of.rejectedBy {
		if part.Lack != nil || !st.canary || !st.scope.holdsBack(part.Type(), part.Table) {
			return false
		}
	}
	return true
}

// askersOf returns the streams that request a route table or filter. The parameter typ is the resource type, and
// table is the name. A stream may be in the result twice.
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

// count updates how the suspected part counts on each stream in of.rejectedBy. If the part is in quarantine
// (of.told), it does not count as a rejection by the stream's Envoy. Otherwise it does. count also adds these streams
// to the set in the parameter streams. The caller must then call verdicts.update for each stream in the set.
func (of *suspicion) count(streams map[*stream]struct{}) {
	for part, st := range of.rejectedBy {
		st.Quarantine(part, of.told)
		streams[st] = struct{}{}
	}
}
