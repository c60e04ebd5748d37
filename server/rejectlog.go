package server

import (
	"slices"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate/xds"
)

// logRejection warns of a rejection. One that repeats itself, and an address that cannot be
// bound, which tellBinds reports, are for debugging alone.
func (s session) logRejection(r *response, request *deltaRequest) {
	event := s.log.Warn()
	if r.again || r.probe || bindFailed(request.GetErrorDetail().GetMessage()) {
		event = s.log.Debug()
	}
	event = event.Str("node", s.stream.node).Str("cluster", s.stream.cluster).Str("type", xds.ShortType(r.typ))
	switch {
	case r.names() != 1:
	case len(r.set) == 1:
		event = event.Str("name", r.set[0].Name)
	default:
		event = event.Str("removed", r.removed[0])
	}
	event.Int("resources", r.names()).Str("envoy", plainWords(r.typ, request.GetErrorDetail().GetMessage())).
		Msg(s.rejectionWords(r))
}

// rejectionWords says what an Envoy serves that rejected an update.
func (s session) rejectionWords(r *response) (words string) {
	words = "an Envoy rejected an update and has no earlier version of it"
	s.locked(func() {
		l := s.stream.ledgers[r.typ]
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
func (s session) logFindings(table string, order []xds.Part, parts map[xds.Part]*refusedPart) {
	event := func() *zerolog.Event {
		return s.log.Warn().Str("node", s.stream.node).Str("cluster", s.stream.cluster).Str("table", table)
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
