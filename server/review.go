package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate"
)

// reviewEvery is the least time between two reviews of what Envoys rejected.
const reviewEvery = 20 * time.Millisecond

// run reviews what Envoys rejected when something changed, and calls
// tell when other parts are in quarantine, until ctx ends.
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
		case <-time.After(max(reviewEvery, 10*time.Since(began))): // others have the lock meanwhile
		case <-ctx.Done():
			return
		}
	}
}

// reviewed is how many parts are reviewed at a time under the lock.
const reviewed = 200

// review finds which parts are in quarantine now. set is nil when they are the same as before;
// again is the time until it is to be called again.
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
				if of == nil { // given up meanwhile
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
				q.verdicts.settle(st)
			}
		})
	}
	if !changed {
		return nil, again
	}
	return set, again
}

// quarantines reports whether a part is to be in quarantine: Envoys rejected it, none took it, and
// every connected one that asks for it has answered, or had the time to. wait is the time until that
// is over. Once it is in quarantine, an Envoy that connects does not end that before it takes the
// part. One that Envoys are too old for is told at once.
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

// staged reports whether canaries alone were sent the part and rejected it: that is for staging to judge, and to
// report.
func (of *suspicion) staged() bool {
	for part, st := range of.rejectedBy {
		if part.Lack != nil || !st.canary || !st.scope.holdsBack(part.Type(), part.Table) {
			return false
		}
	}
	return true
}

// askersOf returns the streams that ask for a table or filter, some twice.
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

// count has the part counted as the object's fault, or as that of the Envoys that rejected it.
func (of *suspicion) count(streams map[*stream]struct{}) {
	for part, st := range of.rejectedBy {
		st.Quarantine(part, of.told)
		streams[st] = struct{}{}
	}
}
