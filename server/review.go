package server

import (
	"context"
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// reviewEvery is the least time between two reviews of what Envoys rejected.
const reviewEvery = 20 * time.Millisecond

// tellQuarantine reviews what Envoys rejected when something changed, and calls
// Options.Quarantine when other parts are in quarantine, until ctx ends.
func (s *Server) tellQuarantine(ctx context.Context) {
	if s.options.Quarantine == nil {
		return
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-s.quarantine.changed:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		set, again := s.review(began)
		if set != nil {
			s.options.Quarantine(set)
		}
		timer.Reset(again)
		select {
		case <-time.After(max(reviewEvery, 10*time.Since(began))): // others have the lock meanwhile
		case <-ctx.Done():
			return
		}
	}
}

// review finds which parts are in quarantine now. set is nil when they are the same as
// before; again is the time until it is to be called again.
func (s *Server) review(now time.Time) (set translate.Quarantine, again time.Duration) {
	for _, look := range s.looksAt() {
		look.find()
		s.locked(look.book)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, again := false, time.Hour
	asking := s.asking()
	for _, of := range s.quarantine.parts {
		tell, wait := s.quarantines(of, asking, now)
		again = min(again, wait)
		if tell != of.told {
			changed, of.told = true, tell
			s.blame(of)
		}
	}
	if !changed {
		return nil, again
	}
	set = translate.Quarantine{}
	for key, of := range s.quarantine.parts {
		if of.told {
			set[key] = of.refusal()
		}
	}
	return set, again
}

// quarantines tells whether a part is to be in quarantine: Envoys rejected it, none took it,
// and every connected one that asks for it has answered, or had the time to. wait is the time
// until that is over. Once it is in quarantine, an Envoy that connects does not end that
// before it takes the part.
func (s *Server) quarantines(of *suspicion, asking map[string][]*stream, now time.Time) (tell bool, wait time.Duration) {
	if len(of.accusers) == 0 || of.taken {
		return false, time.Hour
	}
	if wait = of.since.Add(s.options.BarrierWait).Sub(now); of.told || wait <= 0 {
		return true, time.Hour
	}
	accused := map[*stream]bool{}
	for _, st := range of.accusers {
		accused[st] = true
	}
	for at := range of.at {
		if slices.ContainsFunc(asking[at.table], func(st *stream) bool { return !accused[st] }) {
			return false, wait
		}
	}
	return true, time.Hour
}

// asking returns the streams that ask for each table with a suspected part.
func (s *Server) asking() map[string][]*stream {
	out := map[string][]*stream{}
	for _, of := range s.quarantine.parts {
		for at := range of.at {
			if _, done := out[at.table]; !done && len(of.accusers) > 0 {
				out[at.table] = s.askersOf(at.table)
			}
		}
	}
	return out
}

// askersOf returns the streams that ask for a table, some twice.
func (s *Server) askersOf(table string) []*stream {
	streams := []*stream{}
	for _, owner := range s.union.target[xds.RouteType][table] {
		for _, st := range s.audience(owner.gateway) {
			if l := st.ledgers[xds.RouteType]; l != nil && l.wants(table) {
				streams = append(streams, st)
			}
		}
	}
	return streams
}

// blame has the part counted as the object's, or as what its accusers rejected.
func (s *Server) blame(of *suspicion) {
	for part, st := range of.accusers {
		part.blamed = of.told
		st.convictions++
		s.settle(st)
	}
}

// look is a table as an Envoy took it, in which suspected parts are looked for.
type look struct {
	*entry
	parts map[unit][]lookedFor
}

// lookedFor is a part that is looked for.
type lookedFor struct {
	key   translate.RefusedPart
	of    *suspicion
	found bool
}

// looksAt returns the tables that Envoys took in which a suspected part may be.
func (s *Server) looksAt() (looks []*look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byTable := map[string][]*look{}
	for table, streams := range s.asking() {
		byTable[table] = looksOf(table, streams)
		looks = append(looks, byTable[table]...)
	}
	for key, of := range s.quarantine.parts {
		if len(of.accusers) == 0 || of.taken {
			continue
		}
		for at := range of.at {
			for _, l := range byTable[at.table] {
				l.parts[at.unit] = append(l.parts[at.unit], lookedFor{key: key, of: of})
			}
		}
	}
	return looks
}

// looksOf returns the forms of a table that these streams took, each once.
func looksOf(table string, streams []*stream) (looks []*look) {
	seen := map[*entry]bool{}
	for _, st := range streams {
		if t := st.tables[table]; t != nil && t.accepted != nil && !seen[t.accepted] {
			seen[t.accepted] = true
			looks = append(looks, &look{t.accepted, map[unit][]lookedFor{}})
		}
	}
	return looks
}

// find looks for the parts. It is called without the lock: the table is never changed.
func (l *look) find() {
	if len(l.parts) == 0 {
		return
	}
	e := l.entry
	if e.Linear != nil {
		linear := e.Linear()
		e = &entry{Resource: &linear}
	}
	for u, body := range readTable(e).units {
		for i, part := range l.parts[u] {
			known := refusedPart{sum: part.key.Sum}
			l.parts[u][i].found = known.covers(body)
		}
	}
}

// book notes what was found, under the lock.
func (l *look) book() {
	for _, parts := range l.parts {
		for _, part := range parts {
			part.of.taken = part.of.taken || part.found
		}
	}
}
