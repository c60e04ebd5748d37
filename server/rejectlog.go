package server

import (
	"slices"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// logRejection warns of a rejection. One that repeats itself, and an address that cannot be
// bound, which tellBinds reports, are for debugging alone.
func (s session) logRejection(r *delta.Response, request *delta.Request) {
	event := s.log.Warn()
	if r.Again || r.Probe || delta.BindFailed(request.GetErrorDetail().GetMessage()) {
		event = s.log.Debug()
	}
	event = event.Str("node", s.stream.node).Str("cluster", s.stream.cluster).Str("type", xds.ShortType(r.Type))
	switch {
	case r.Names() != 1:
	case len(r.Set) == 1:
		event = event.Str("name", r.Set[0].Name)
	default:
		event = event.Str("removed", r.Removed[0])
	}
	event.Int("resources", r.Names()).Str("envoy", r.Words).
		Msg(s.rejectionWords(r))
}

// rejectionWords says what an Envoy serves that rejected an update.
func (s session) rejectionWords(r *delta.Response) (words string) {
	words = "an Envoy rejected an update and has no earlier version of it"
	s.locked(func() {
		held := func(e *delta.Entry) bool {
			_, ok := s.stream.Held(r.Type, e.Name)
			return ok
		}
		if len(r.Removed) > 0 || slices.ContainsFunc(r.Set, held) {
			words = "an Envoy rejected an update and keeps the previous version"
		}
	})
	return words
}

// maxFindings bounds how many parts of a table are logged one by one.
const maxFindings = 20

// logRefused logs which parts of tables an Envoy rejects; those of a table are one after the other.
func (s session) logRefused(parts []*delta.RejectedPart) {
	logged := map[string]int{} // by table
	for _, part := range parts {
		if part.Match { // logged before
			continue
		}
		if logged[part.Table]++; logged[part.Table] > maxFindings {
			continue
		}
		if part.Lack != nil {
			s.warnOfTable(part.Table).Stringer("part", part.Part).Str("version", s.stream.version).Msg("an Envoy is too old for a part of a table, which answers 500 there: " + part.Words)
			continue
		}
		s.warnOfTable(part.Table).Stringer("part", part.Part).Str("envoy", part.Words).
			Msg("an Envoy rejects a part of a table: it answers 500 there, and the rest of the table is served")
	}
	for table, count := range logged {
		if more := count - maxFindings; more > 0 {
			s.warnOfTable(table).Int("parts", more).Msg("an Envoy rejects more parts of the table, or is too old for them: they answer 500 there")
		}
	}
}

// warnOfTable begins a warning.
func (s session) warnOfTable(table string) *zerolog.Event {
	return s.log.Warn().Str("node", s.stream.node).Str("cluster", s.stream.cluster).Str("table", table)
}
