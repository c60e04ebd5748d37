package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// Each Envoy decides for itself: a part of a table that it rejects is kept from its own
// stream (search.go). What it rejected is nothing to the others. When every connected Envoy
// that asks for the table rejected the part, it is in quarantine: the problem is the object's
// then, and the Gateway is programmed without it.

// maxQuarantine bounds how many parts are remembered that Envoys rejected.
const maxQuarantine = 10_000

// quarantine is what Envoys rejected. It is guarded by Server.mu.
type quarantine struct {
	parts   map[translate.RefusedPart]*suspicion
	changed chan struct{} // capacity 1: there is something to review
}

// suspicion is what is known of a part in one form that an Envoy rejected. One that no
// connected Envoy rejected any more is kept as a hint: see Server.hints.
type suspicion struct {
	at map[placed]struct{} // where it stands
	// accusers are the streams that rejected it, by what they know of it.
	accusers map[*refusedPart]*stream
	since    time.Time // of the first of them
	taken    bool      // an Envoy took it: it is the accusers' own matter
	told     bool      // it is in quarantine
}

// placed is a part of a table.
type placed struct {
	table string
	unit
}

func newQuarantine() quarantine {
	return quarantine{parts: map[translate.RefusedPart]*suspicion{}, changed: make(chan struct{}, 1)}
}

func (q *quarantine) poke() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// heed takes what an answer to a table taught.
func (s *Server) heed(st *stream, r *response) {
	if r.found != nil {
		s.accuse(st, r.found)
		if r.found.replaces != nil {
			st.acquitted = append(st.acquitted, r.found.replaces)
		}
	}
	s.acquit(st)
	if r.typ == xds.RouteType && len(s.quarantine.parts) > 0 {
		s.quarantine.poke() // an Envoy may have taken a part
	}
}

// accuse books that a stream rejected a part, unless that is the Envoy's own matter by its
// words.
func (s *Server) accuse(st *stream, found *conviction) {
	part := found.part
	if s.ownMatter(part.words) {
		return
	}
	key := translate.RefusedPart{Table: found.table, Host: found.unit.host, Route: found.unit.route, Sum: part.sum}
	if key.Route != "" { // a route is rejected in whatever table it stands
		key.Table, key.Host = "", ""
	}
	of := s.quarantine.parts[key]
	if of == nil {
		if !s.quarantine.room() {
			return
		}
		of = &suspicion{at: map[placed]struct{}{}, accusers: map[*refusedPart]*stream{}}
		s.quarantine.parts[key] = of
	}
	if len(of.accusers) == 0 {
		of.since, of.taken = time.Now(), false
	}
	of.at[placed{found.table, found.unit}] = struct{}{}
	of.accusers[part] = st
	part.key, part.blamed = key, of.told
	s.quarantine.poke()
}

// room tells whether one more part can be remembered. A hint is given up for it.
func (q *quarantine) room() bool {
	if len(q.parts) < maxQuarantine {
		return true
	}
	for key, of := range q.parts {
		if len(of.accusers) == 0 && !of.told {
			delete(q.parts, key)
			return true
		}
	}
	return false
}

// acquit books which parts a stream rejects no longer: they changed, or it left.
func (s *Server) acquit(st *stream) {
	for _, part := range st.acquitted {
		if of := s.quarantine.parts[part.key]; of != nil && of.accusers[part] != nil {
			delete(of.accusers, part)
			s.quarantine.poke()
		}
	}
	st.acquitted = nil
}

// hints returns what other Envoys rejected of a table, in the forms that they rejected.
func (s *Server) hints(table string) map[unit]*refusedPart {
	out := map[unit]*refusedPart{}
	for key, of := range s.quarantine.parts {
		for at := range of.at {
			if at.table == table {
				out[at.unit] = &refusedPart{sum: key.Sum, match: of.byMatch()}
			}
		}
	}
	return out
}

// byMatch tells whether all that rejected the part rejected its match.
func (of *suspicion) byMatch() bool {
	for part := range of.accusers {
		if !part.match {
			return false
		}
	}
	return len(of.accusers) > 0
}

// refusal is what the accusers said of the part.
func (of *suspicion) refusal() translate.Refusal {
	var words []string
	for part, st := range of.accusers {
		words = append(words, fmt.Sprintf("Envoy %q: %s", cmp.Or(st.node, st.peer), part.words))
	}
	return translate.Refusal{Match: of.byMatch(), Words: slices.Min(words)}
}

// forgive asks Envoys again for what they rejected: they may have been replaced by others.
func (s *Server) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	forget := func(c *scope) {
		for st := range c.streams {
			for name, t := range st.tables {
				if t.hopeless == "" && len(t.refused) == 0 {
					continue
				}
				st.forgetTable(name)
				st.tables[name] = &tableState{accepted: t.accepted, refused: map[unit]*refusedPart{}}
				if l := st.ledgers[xds.RouteType]; l != nil {
					l.rejected.remove(name)
					st.mark(xds.RouteType, name)
				}
			}
			s.acquit(st)
		}
	}
	forget(s.union)
	for _, c := range s.scopes {
		forget(c)
	}
}

// refusedRoutes says what is kept from this Envoy because it refused it.
func (st *stream) refusedRoutes(gateway string) []string {
	var said []string
	for name, t := range st.tables {
		if !st.scope.owns(gateway, xds.RouteType, name) {
			continue
		}
		for u, part := range t.refused {
			if part.blamed {
				continue
			}
			said = append(said, fmt.Sprintf("Envoy %q rejected %s, which answers 500 there: %s", cmp.Or(st.node, st.peer), u, part.words))
		}
	}
	slices.Sort(said)
	return said
}

func (u unit) String() string {
	if u.route == "" {
		return fmt.Sprintf("host %q", u.host)
	}
	return fmt.Sprintf("route %q of host %q", strings.TrimPrefix(u.route, "HTTPRoute/"), u.host)
}

// logRejection warns of a rejection. One that repeats itself, and an address that cannot be
// bound, which tellBinds reports, are for debugging alone.
func (s *Server) logRejection(st *stream, r *response, request *deltaRequest) {
	event := s.log.Warn()
	if r.again || r.probe || bindFailed(request.GetErrorDetail().GetMessage()) {
		event = s.log.Debug()
	}
	event = event.Str("node", st.node).Str("cluster", st.cluster).Str("type", shortType(r.typ))
	switch {
	case r.names() != 1:
	case len(r.set) == 1:
		event = event.Str("name", r.set[0].Name)
	default:
		event = event.Str("removed", r.removed[0])
	}
	event.Int("resources", r.names()).Str("envoy", plainWords(r.typ, request.GetErrorDetail().GetMessage())).
		Msg(s.rejectionWords(st, r))
}

// rejectionWords says what an Envoy serves that rejected an update.
func (s *Server) rejectionWords(st *stream, r *response) (words string) {
	words = "an Envoy rejected an update and has no earlier version of it"
	s.locked(func() {
		l := st.ledgers[r.typ]
		held := func(e *entry) bool { return l != nil && l.held.has(e.Name) }
		if len(r.removed) > 0 || slices.ContainsFunc(r.set, held) {
			words = "an Envoy rejected an update and keeps the previous version"
		}
	})
	return words
}

// logFindings logs which part of a table an answer showed to be bad.
func (s *Server) logFindings(st *stream, r *response) {
	if found := r.found; found != nil && !found.part.match {
		s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("table", found.table).Stringer("part", found.unit).
			Str("envoy", found.part.words).Msg("an Envoy rejects a part of a table: it answers 500, the table goes on without it")
	}
}
