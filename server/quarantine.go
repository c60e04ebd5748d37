package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

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
// connected Envoy rejects any more is kept as a hint: see Server.hints.
type suspicion struct {
	at map[placed]struct{} // where it is
	// accusers are the streams that rejected it, by what they know of it.
	accusers map[*refusedPart]*stream
	since    time.Time // of the first of them
	taken    bool      // an Envoy took it: it is the accusers' own matter
	told     bool      // it is in quarantine
}

// placed is a part of a table.
type placed struct {
	table string
	xds.Part
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

// heed has what Envoys rejected reviewed after an answer to a table: an Envoy may have taken a part.
func (s *Server) heed(st *stream, r *response) {
	s.acquit(st)
	if r.typ == xds.RouteType && !r.probe && len(s.quarantine.parts) > 0 {
		s.quarantine.poke()
	}
}

// accuse books that a stream rejected a part, unless that is the Envoy's own matter by its words.
func (s *Server) accuse(st *stream, table string, at xds.Part, part *refusedPart) {
	if s.ownMatter(part.words) {
		return
	}
	key := translate.RefusedPart{Table: table, Host: at.Host, Route: at.Route, Sum: part.Sum}
	if key.Route != "" { // a route is rejected in whatever table it is
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
	of.at[placed{table, at}] = struct{}{}
	of.accusers[part] = st
	part.key = key
	part.setBlamed(of.told)
}

// setBlamed notes whether the part is in quarantine.
func (r *refusedPart) setBlamed(blamed bool) {
	if r.blamed != blamed {
		r.blamed = blamed
		r.in.unblamed += 1 - 2*int(number(blamed))
	}
}

// ownMatter reports whether Envoy's words are about this Envoy and not about the rule: it was
// built without something, or is set to a limit. Another Envoy may take the rule.
func (s *Server) ownMatter(words string) bool {
	return !s.options.blameRules && slices.ContainsFunc([]string{
		"Didn't find a registered implementation", "could not find @type", "Unable to parse JSON", "unknown type",
		"max program size", "has unknown fields",
	}, func(part string) bool { return strings.Contains(words, part) })
}

// room reports whether one more part can be remembered. A hint is given up for it.
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

// acquit books which parts a stream no longer rejects: they changed, or it left.
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
func (s *Server) hints(table string) map[xds.Part]xds.Fault {
	out := map[xds.Part]xds.Fault{}
	for key, of := range s.quarantine.parts {
		for at := range of.at {
			if at.table == table {
				out[at.Part] = xds.Fault{Sum: key.Sum, Match: of.byMatch()}
			}
		}
	}
	return out
}

// byMatch reports whether all that rejected the part rejected its match.
func (of *suspicion) byMatch() bool {
	for part := range of.accusers {
		if !part.Match {
			return false
		}
	}
	return len(of.accusers) > 0
}

// refusal is what the accusers said of the part.
func (of *suspicion) refusal() translate.Refusal {
	var node, words string
	for part, st := range of.accusers {
		if name := cmp.Or(st.node, st.peer); node == "" || cmp.Or(cmp.Compare(name, node), cmp.Compare(part.words, words)) < 0 {
			node, words = name, part.words
		}
	}
	return translate.Refusal{Match: of.byMatch(), Words: fmt.Sprintf("Envoy %q: %s", node, words)}
}

// forgive has what Envoys rejected tried again: they may have been replaced by others.
func (s *Server) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range append(slices.Collect(maps.Values(s.scopes)), s.union) {
		for st := range c.streams {
			st.forgiven = true
			st.setIdle(false)
			st.poke()
		}
	}
}

// forgiveOne forgets what a stream rejected, if it was forgiven.
func (s *Server) forgiveOne(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !st.forgiven {
		return
	}
	st.forgiven = false
	for name, t := range st.tables {
		if t.hopeless == "" && len(t.refused) == 0 {
			continue
		}
		st.forgetTable(name)
		st.tables[name] = &tableState{accepted: t.accepted, refused: map[xds.Part]*refusedPart{}}
		if l := st.ledgers[xds.RouteType]; l != nil {
			l.rejected.remove(name)
			st.mark(xds.RouteType, name)
		}
	}
	s.acquit(st)
}

// refusedRoutes says what is kept from this Envoy because it rejected it.
func (st *stream) refusedRoutes(gateway string) []string {
	var said []string
	for name := range st.blamed {
		if !st.scope.owns(gateway, xds.RouteType, name) {
			continue
		}
		for at, part := range st.tables[name].refused {
			if !part.blamed {
				said = append(said, fmt.Sprintf("Envoy %q rejected %s, which answers 500 there: %s", cmp.Or(st.node, st.peer), at, part.words))
			}
		}
	}
	slices.Sort(said)
	return said
}

// logRejection warns of a rejection. One that repeats itself, and an address that cannot be
// bound, which tellBinds reports, are for debugging alone.
func (s *Server) logRejection(st *stream, r *response, request *deltaRequest) {
	event := s.log.Warn()
	if r.again || r.probe || bindFailed(request.GetErrorDetail().GetMessage()) {
		event = s.log.Debug()
	}
	event = event.Str("node", st.node).Str("cluster", st.cluster).Str("type", xds.ShortType(r.typ))
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

// maxFindings bounds how many parts of a table are logged one by one.
const maxFindings = 20

// logFindings logs which parts of a table an Envoy rejects.
func (s *Server) logFindings(st *stream, table string, order []xds.Part, parts map[xds.Part]*refusedPart) {
	event := func() *zerolog.Event {
		return s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("table", table)
	}
	order = slices.DeleteFunc(order, func(at xds.Part) bool { return parts[at].Match }) // logged before
	for _, at := range order[:min(len(order), maxFindings)] {
		event().Stringer("part", at).Str("envoy", parts[at].words).
			Msg("an Envoy rejects a part of a table: it answers 500 there, and the rest of the table is served")
	}
	if more := len(order) - maxFindings; more > 0 {
		event().Int("parts", more).Msg("an Envoy rejects more parts of the table: they answer 500 there")
	}
}
